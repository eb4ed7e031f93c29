"""A message as what Telegram takes: text with entities, an inline keyboard, a photo."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from aiogram.methods import (
    EditEphemeralMessageText,
    EditMessageText,
    SendMessage,
    SendPhoto,
    TelegramMethod,
)
from aiogram.types import (
    BufferedInputFile,
    EphemeralMessageParameters,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    LinkPreviewOptions,
    Message,
    MessageEntity,
    ReplyParameters,
)

from lightwell.domain.channels import Account, Chat
from lightwell.entrypoints.channels.messages import Button, Limits
from lightwell.entrypoints.channels.paging import fit_label, utf16_length
from lightwell.entrypoints.channels.platform import Labelled
from lightwell.entrypoints.telegram.formatting import formatted
from lightwell.entrypoints.telegram.message_ids import MessageId, press_id
from lightwell.text.printable import clean

LIMITS = Limits(characters=4096, counts_utf16=True, buttons=96, label=64)
"""What one message may have; a hundred buttons are Telegram's limit."""

_CAPTION_UNITS = 1024
_DATA_BYTES = 64
_NO_PREVIEW = LinkPreviewOptions(is_disabled=True)
_NOTHING = "(nothing)"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a message goes besides its chat: below another one, in answer to a press, to one account alone."""

    reply: ReplyParameters | None = None
    alone: EphemeralMessageParameters | None = None

    @classmethod
    def below(cls, message: str) -> "Place":
        """Return the place below a message that all see, also where that is not there any more."""
        match MessageId.parse(message):
            case MessageId(number, None):
                return cls(ReplyParameters(message_id=number, allow_sending_without_reply=True))
            case _:
                return cls()

    @classmethod
    def only_for(cls, account: Account, reply_to: str) -> "Place":
        """Return the place where one account alone sees it, in answer to its message or its press, "" for neither."""
        press = press_id(reply_to)
        alone = EphemeralMessageParameters(
            receiver_user_id=int(account.id), callback_query_id=press or None
        )
        match MessageId.parse(reply_to):
            case MessageId(number, None):
                return cls(ReplyParameters(message_id=number), alone)
            case MessageId(number, _):
                return cls(ReplyParameters(ephemeral_message_id=number), alone)
            case None:
                return cls(None, alone)


@dataclass(frozen=True, slots=True)
class Written:
    """A message with Telegram's own parts."""

    text: str
    entities: list[MessageEntity]
    keyboard: InlineKeyboardMarkup | None
    picture: bytes

    @classmethod
    def of(cls, labelled: Labelled) -> "Written":
        text, entities = formatted(labelled.message.blocks)
        return cls(text, entities, _keyboard(labelled), labelled.message.picture)

    @property
    def is_captioned(self) -> bool:
        """Whether picture and text are one message."""
        return self.picture != b"" and utf16_length(self.text) <= _CAPTION_UNITS

    def text_method(self, chat: Chat, place: Place) -> SendMessage:
        """Return what sends the text with the buttons."""
        return SendMessage(
            chat_id=int(chat.id),
            message_thread_id=_thread(chat),
            text=self.text or _NOTHING,
            entities=self.entities,
            link_preview_options=_NO_PREVIEW,
            reply_parameters=place.reply,
            ephemeral_message_parameters=place.alone,
            reply_markup=self.keyboard,
        )

    def photo_method(self, chat: Chat, place: Place) -> SendPhoto:
        """Return what sends the picture: with text and buttons where they fit below it, else alone."""
        return SendPhoto(
            chat_id=int(chat.id),
            message_thread_id=_thread(chat),
            photo=self._photo(),
            caption=self.text if self.is_captioned else None,
            caption_entities=self.entities if self.is_captioned else None,
            reply_parameters=place.reply,
            ephemeral_message_parameters=place.alone,
            reply_markup=self.keyboard if self.is_captioned else None,
        )

    def edit_method(self, chat: Chat, sent: MessageId) -> TelegramMethod[Message | bool]:
        """Return what makes a text that was sent say this; a picture cannot be put into a text."""
        return EditMessageText(
            chat_id=int(chat.id),
            message_id=sent.number,
            text=self.text or _NOTHING,
            entities=self.entities,
            link_preview_options=_NO_PREVIEW,
            reply_markup=self.keyboard,
        )

    def edit_alone_method(
        self, chat: Chat, receiver: int, sent: MessageId
    ) -> EditEphemeralMessageText:
        """Return what makes a text that one account alone sees say this."""
        return EditEphemeralMessageText(
            chat_id=int(chat.id),
            receiver_user_id=receiver,
            ephemeral_message_id=sent.number,
            text=self.text or _NOTHING,
            entities=self.entities,
            link_preview_options=_NO_PREVIEW,
            reply_markup=self.keyboard,
        )

    def _photo(self) -> BufferedInputFile:
        return BufferedInputFile(self.picture, "page.png")


def _thread(chat: Chat) -> int | None:
    return int(chat.thread) if chat.thread else None


def _keyboard(labelled: Labelled) -> InlineKeyboardMarkup | None:
    rows = list[list[InlineKeyboardButton]]()
    for number, row in enumerate(labelled.message.buttons):
        data = labelled.data[number] if number < len(labelled.data) else ()
        buttons = [
            made
            for place, button in enumerate(row)
            if (made := _button(button, data[place] if place < len(data) else ""))
        ]
        if buttons:
            rows.append(buttons)
    return InlineKeyboardMarkup(inline_keyboard=rows) if rows else None


def _button(button: Button, data: str) -> InlineKeyboardButton | None:
    """Return a button, None where Telegram would take none: an address of this machine, or not of https, or no data."""
    label = fit_label(clean(button.label), LIMITS) or "…"
    if button.url:
        parts = urlsplit(button.url)
        is_taken = parts.scheme == "https" and "." in (parts.hostname or "")
        return InlineKeyboardButton(text=label, url=button.url) if is_taken else None
    if not 0 < len(data.encode()) <= _DATA_BYTES:
        return None
    return InlineKeyboardButton(text=label, callback_data=data)
