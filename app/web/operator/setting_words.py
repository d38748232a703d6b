"""What the settings mean, listed for the translation catalogs; a test keeps the list whole."""

from app.web.sentences import marked

DESCRIPTIONS = frozenset(
    {
        marked("Address that the web app listens on."),
        marked("Port that the web app listens on."),
        marked("Address of the bundled inference server."),
        marked("Port of the bundled server."),
        marked("Key of the bundled server; made and kept in the data folder when unset."),
        marked("Folder for the database and made secrets."),
        marked("SQLAlchemy URL, sqlite or postgresql; empty means SQLite in the data folder."),
        marked("Redis, which several processes of the app need: live answers, stops, and limits are shared there."),
        marked("Model file of the bundled server; empty means the bundled file."),
        marked("Model servers as a JSON list; empty means the bundled one."),
        marked("Allows several users on a backend that does not separate their caches (`isolation` is `none`)."),
        marked("Lets operators read titles and texts of other people's conversations; every view is audited."),
        marked("Fixes the one-time code of the first account, for automation."),
        marked("Answers in the making, per user."),
        marked("Messages and other changes, per user and minute."),
        marked("Days without use until a session ends."),
        marked("Days until a session ends anyway."),
        marked("Longest message, in characters."),
        marked("Longest answer, in tokens (`max_tokens`)."),
        marked("What new conversations begin with, where their owner has no default of their own."),
        marked("Days after which a conversation that nobody has touched is deleted; empty keeps all."),
        marked("Days after which the figures of turns whose text was deleted go too; empty keeps all."),
        marked("How long a stopping process waits for answers before it cuts them."),
        marked("Set behind TLS: cookies only over HTTPS."),
        marked("Host names that the app answers to, as a JSON list; empty means any."),
        marked("Addresses of proxies whose X-Forwarded-For is believed, as a JSON list."),
        marked("Short name, shown to operators and stored with every turn."),
        marked("Where it listens, without `/v1`."),
        marked("Sent as `x-api-key`."),
        marked("Model id; empty means the first that it lists."),
        marked("In tokens; empty means what it reports."),
        marked("Whether `metadata.user_id` separates the caches of users there."),
        marked("Whether it goes on from a final assistant message, so that answers can be continued."),
        marked("Whether `message_start` comes at admission, before the prefill."),
        marked(
            "What it reuses: `token`, `block(16)` for whole blocks, `breakpoint(1024)` for marked prefixes of so "
            "many tokens or more, or `none`."
        ),
        marked("How long it keeps a prompt that nobody asks for, in seconds; empty means as room allows."),
        marked("Whether it must be asked to cache: `cache_control` is then sent with every request."),
        marked("Name of a header that carries an id of the conversation, for routers that keep it on one server."),
        marked("Whether it takes `diagnostics` and says why it missed, as the bundled server does."),
        marked("Whether it shows tokens, attention and its cache to us, as the bundled server does."),
        marked("Whether it drops what it remembers of messages that are deleted here, as the bundled server does."),
        marked("Whoever sends it as a bearer token may read `/metrics`; empty means that there is no such page."),
    }
)
