"""What commands write into documents: blocks of a page, and a picture of a whole comparison."""
