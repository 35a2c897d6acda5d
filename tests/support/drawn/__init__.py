"""Parts of the documents that are drawn from the code, one module for each of what they are drawn from."""
