"""From a recogniser's segments to sentences: where one ends, how its parts are joined, numbers as digits."""
