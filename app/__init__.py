"""The web app: accounts, conversations, turns and their cache figures, in SQL, shown in a browser.

It reaches the model only through `inference_client`, over HTTP.
"""
