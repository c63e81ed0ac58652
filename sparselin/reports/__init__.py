"""Reports turn the results of experiments into tables, figures and pages; they compute nothing new."""
