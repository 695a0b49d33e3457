"""What a release is made with: checks, the man page, the list of licences, the tag."""
