"""The English sentences that the services say, listed for the translation catalogs; a test keeps the list whole.

Numbers inside them stand as %(n1)s, %(n2)s: `problem_words` takes them out before it looks a sentence up.
"""


def marked(sentence: str) -> str:
    """Tells the catalog tool that this is to be translated, and does nothing else."""
    return sentence


SENTENCES = frozenset(
    {
        marked("The name or the password is wrong."),
        marked("Too many tries; wait a minute."),
        marked("A password has %(n1)s to %(n2)s characters."),
        marked("A name has %(n1)s to %(n2)s characters."),
        marked("A name cannot have control characters."),
        marked("This is not the code that the console shows."),
        marked("The first account was made by somebody else just now."),
        marked("There is an account already."),
        marked("An answer is being written; stop it first."),
        marked("At most %(n1)s characters are possible."),
        marked("A title cannot be empty."),
        marked("At most %(n1)s conversations can be pinned."),
        marked("A search has at most %(n1)s characters."),
        marked("Too many exports; wait a minute."),
        marked("The model server does not list this model now."),
        marked("The longest answer is a whole number from %(n1)s to %(n2)s."),
        marked("A temperature is a number from %(n1)s to %(n2)s."),
        marked("Top p is a number above %(n1)s and at most %(n2)s."),
        marked("At most %(n1)s stop texts are possible."),
        marked("A stop text has at most %(n1)s characters."),
        marked("This answer was still being written when it was exported."),
        marked("This is no export that can be read here."),
        marked("This is missing."),
        marked("This does not belong here."),
        marked("This is not a file of JSON."),
        marked("This value is not allowed."),
        marked("This hash does not fit the message."),
        marked("A message must come after its parent."),
        marked("An answer needs a question as its parent."),
        marked("Only questions have a context note."),
        marked("This is not a child of the message."),
        marked("This stands in the file twice."),
        marked("This refers to nothing that fits in the file."),
        marked("A search has at most %(n1)s words."),
        marked("This form was sent before with another text."),
        marked("An answer is being written here."),
        marked("%(n1)s answers are being written for you; wait for one or stop it."),
        marked("The app is being restarted."),
        marked("A message cannot be empty."),
        marked("%(n1)s characters; at most %(n2)s are possible."),
        marked("The form has no usable key; load the page again."),
        marked("The model server ended the answer without a reason."),
        marked("The app was stopped while this answer was being written."),
        marked("The app was restarted while this answer was being written."),
        marked("The turn was ended elsewhere."),
        marked("The model server does not offer a model."),
        marked("Something went wrong in the app; the log says more."),
        marked("The connection to the model server was lost."),
        marked("The model server fell silent."),
        marked("The model server cannot be reached."),
        marked("The model server did not begin to answer in time."),
        marked("The model server gave an answer that cannot be read."),
        marked("The model server refused the request."),
        marked("The model server does not accept our key."),
        marked("The model server does not have the model."),
        marked("The conversation is too large for the model server."),
        marked("The model server takes no more requests now."),
        marked("The model server is overloaded."),
        marked("The model server failed."),
    }
)
