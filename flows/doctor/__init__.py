"""`surtitle doctor`: what this machine has for captions, judged by pure rules; a module for each subject."""
