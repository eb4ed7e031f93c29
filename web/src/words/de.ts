/** Every word on the page, in German. */
import type { Words } from './en';

export const de: Words = {
  name: 'Lightwell',
  rail: {
    label: 'Hauptmenü',
    ask: 'Fragen',
    documents: 'Dokumente',
    map: 'Karte',
    review: 'Prüfen',
    setup: 'Einrichten',
    account: 'Ihr Konto',
  },
  common: {
    cancel: 'Abbrechen',
    close: 'Schließen',
    save: 'Speichern',
    retry: 'Noch einmal',
    undo: 'Rückgängig',
    more: 'Mehr zeigen',
    copy: 'Kopieren',
    copied: 'Kopiert',
    search: 'Suchen',
    loading: 'Lädt …',
    nothing: 'Hier ist noch nichts',
    skip: 'Zum Inhalt',
  },
  problem: {
    title: 'Das ging nicht',
    unreachable: 'Der Server ist nicht erreichbar. Prüfen Sie die Verbindung und versuchen Sie es noch einmal.',
    unknown: (status: number) =>
      `Der Server meldet den Fehler ${status}. Versuchen Sie es noch einmal; bleibt es dabei, sagen Sie es dem Betreiber.`,
    notFound: 'Das gibt es nicht, oder Sie dürfen es nicht sehen.',
    noPage: 'Diese Seite gibt es nicht.',
  },
  ended: {
    title: 'Sie sind abgemeldet',
    text: 'Ihre Sitzung ist zu Ende. Was Sie geschrieben haben, steht noch hier: Melden Sie sich in einem neuen Tab an und kommen Sie zurück.',
    signIn: 'Anmelden',
    resume: 'Ich bin angemeldet',
  },
  signIn: {
    title: 'Anmelden',
    working: 'Sie werden angemeldet …',
    withProvider: (name: string) => `Mit ${name} anmelden`,
    or: 'oder mit einem Schlüssel',
    key: 'Schlüssel',
    keyHint: 'Sie haben ihn von dem, der Lightwell betreibt.',
    wrongKey: 'Dieser Schlüssel gilt nicht. Prüfen Sie, ob er ganz da ist; er kann auch abgelaufen sein.',
    used: 'Dieser Link wurde schon benutzt, oder er ist zu alt. Bitten Sie den Absender um einen neuen.',
    usedAtStart:
      'Dieser Link wurde schon benutzt, oder er ist zu alt. Bitten Sie den Absender um einen neuen; der Server druckt bei jedem Start einen.',
    wait: 'Es gab zu viele Versuche aus Ihrem Netz. Warten Sie eine Minute und versuchen Sie es noch einmal.',
    unencrypted:
      'Die Verbindung zu diesem Server ist nicht verschlüsselt, darum kann sich niemand anmelden. Wer Lightwell betreibt, muss https davorschalten.',
    failed: {
      state: 'Diese Anmeldung begann nicht in diesem Browser, oder sie dauerte zu lange. Beginnen Sie noch einmal.',
      provider:
        'Der Anbieter hat nicht bestätigt, wer Sie sind. Versuchen Sie es noch einmal, oder melden Sie sich mit einem Schlüssel an.',
      refused:
        'Der Anbieter kennt Sie, aber Sie haben hier keinen Zugang mehr. Fragen Sie den, der Lightwell betreibt.',
    },
    none: 'Kein Schlüssel?',
    ask: 'Bitten Sie den, der Lightwell betreibt, um eine Einladung: einen Link, der Sie anmeldet.',
    atStart:
      'Wenn Lightwell auf diesem Rechner läuft: Beim Start nennt es eine Adresse, die Sie anmeldet. Bitten Sie sonst um eine Einladung.',
    signedIn: (name: string) => `Sie sind angemeldet als ${name}`,
    goOn: 'Weiter',
    nothingOpen: 'Für Sie ist noch nichts offen',
    nothingOpenText: (name: string) =>
      `Sie sind angemeldet als ${name}, aber bisher hat Ihnen niemand Zugang zu Dokumenten gegeben. Sagen Sie es dem, der Lightwell betreibt; es gilt, sobald es getan ist.`,
    look: 'Noch einmal nachsehen',
  },
  account: {
    theme: 'Aussehen',
    themes: { system: 'Wie das System', light: 'Hell', dark: 'Dunkel' },
    language: 'Sprache',
    signOut: 'Abmelden',
    signOutEverywhere: 'Überall abmelden',
    keys: 'Tasten',
  },
  keys: {
    title: 'Tasten',
    ask: 'Eine Frage stellen',
    close: 'Schließen, was offen ist',
    goAsk: 'Zu Fragen',
    goDocuments: 'Zu Dokumente',
    goMap: 'Zur Karte',
    goReview: 'Zu Prüfen',
    show: 'Alle Tasten zeigen',
  },
  setup: {
    groups: { people: 'Menschen', documents: 'Dokumente', answers: 'Antworten', server: 'Server' },
    parts: {
      models: 'Modelle',
    },
  },
};
