"""Tables, figures and pages of the results of experiments; they compute nothing new."""
