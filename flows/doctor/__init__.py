"""`surtitle doctor`: checks whether captions will work on this machine; one function per subject."""
