"""What keeps the book true: set-up, build and the gates behind `make test`."""
