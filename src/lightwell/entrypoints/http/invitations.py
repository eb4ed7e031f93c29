"""Invitations, and the sessions of people in browsers, as administrators see them."""

from datetime import timedelta
from uuid import UUID

from fastapi import APIRouter, Request, Response

from lightwell.domain.web_sessions import LinkId, sign_in_address
from lightwell.entrypoints.http.addresses import server_address
from lightwell.entrypoints.http.directory import Opened
from lightwell.entrypoints.operations.sessions import (
    BrowserSession,
    BrowserSessions,
    Invitation,
    InvitationBody,
    Invitations,
    NewInvitation,
)
from lightwell.knowledge_base.invitations import SignInLinks

router = APIRouter(prefix="/v1/admin", tags=["directory"])


@router.get("/invitations")
async def list_invitations(directory: Opened) -> Invitations:
    """List the links that can still be used, the oldest first, without what signs in."""
    links = await SignInLinks(directory=directory).list_links()
    return Invitations(invitations=[Invitation.model_validate(link) for link in links])


@router.post("/invitations", status_code=201)
async def invite_person(body: InvitationBody, request: Request, directory: Opened) -> NewInvitation:
    """Add somebody to the directory, and return a link that signs them in once; it is shown only now.

    For a person who is there already it makes another link.
    """
    link, secret = await SignInLinks(directory=directory).invite(
        body.person, body.to_change(), body.groups, timedelta(days=body.days)
    )
    shown = Invitation.model_validate(link)
    return NewInvitation.of(shown, url=sign_in_address(server_address(request), secret))


@router.delete("/invitations/{invitation}", status_code=204)
async def revoke_invitation(invitation: UUID, directory: Opened) -> Response:
    """Revoke a link that was not used yet; the person stays in the directory."""
    await SignInLinks(directory=directory).revoke(LinkId(invitation))
    return Response(status_code=204)


@router.get("/people/{person}/sessions")
async def list_sessions(person: str, directory: Opened) -> BrowserSessions:
    """List where a person is signed in, the session used last first."""
    sessions = await SignInLinks(directory=directory).list_sessions(person)
    return BrowserSessions(
        sessions=[BrowserSession.model_validate(session) for session in sessions]
    )


@router.delete("/people/{person}/sessions", status_code=204)
async def end_sessions(person: str, directory: Opened) -> Response:
    """Sign a person out everywhere, and revoke the links that would sign them in."""
    await SignInLinks(directory=directory).end_sessions(person)
    return Response(status_code=204)
