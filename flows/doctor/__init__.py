"""`surtitle doctor`: whether captions will work on this machine; a function for each subject."""
