"""Bots of chat platforms in the database: which run, by what they said last."""

from lightwell.domain.channels import BOT_PAUSE, Bot
from lightwell.domain.ids import ProjectId
from lightwell.records.database import Database

_NOTE = """
INSERT INTO channel_bots (project_id, platform, name, workspace)
VALUES (%(project_id)s, %(platform)s, %(name)s, %(workspace)s)
ON CONFLICT (project_id, platform) DO UPDATE
SET name = EXCLUDED.name, workspace = EXCLUDED.workspace, seen_at = now()
"""

_LIST = """
SELECT platform, name, workspace FROM channel_bots
WHERE project_id = %(project_id)s AND seen_at > now() - %(pause)s ORDER BY platform
"""


async def note_bot(database: Database, project_id: ProjectId, bot: Bot) -> None:
    """Note that a bot runs now."""
    row = {
        "project_id": project_id,
        "platform": bot.platform,
        "name": bot.name,
        "workspace": bot.workspace,
    }
    await database.execute(_NOTE, row)


async def list_bots(database: Database, project_id: ProjectId) -> list[Bot]:
    """Return the bots that run, by platform."""
    return await database.rows(_LIST, {"project_id": project_id, "pause": BOT_PAUSE}, into=Bot)
