/** Every word on the page, in English; `de.ts` has the same in German. One section a screen. */
export const en = {
  name: 'Lightwell',
  rail: {
    label: 'Main',
    ask: 'Ask',
    documents: 'Documents',
    map: 'Map',
    review: 'Review',
    setup: 'Set up',
    account: 'Your account',
  },
  common: {
    cancel: 'Cancel',
    close: 'Close',
    save: 'Save',
    retry: 'Try again',
    undo: 'Undo',
    more: 'Show more',
    copy: 'Copy',
    copied: 'Copied',
    search: 'Search',
    loading: 'Loading …',
    nothing: 'Nothing here yet',
    skip: 'To the content',
  },
  problem: {
    title: 'That did not work',
    unreachable: 'The server cannot be reached. Check your connection, then try again.',
    unknown: (status: number) =>
      `The server answered with error ${status}. Try again; if it stays, tell whoever runs it.`,
    notFound: 'This does not exist, or you may not see it.',
    noPage: 'There is no such page.',
  },
  ended: {
    title: 'You are signed out',
    text: 'Your session has ended. What you wrote is still here: sign in again in a new tab, then come back.',
    signIn: 'Sign in',
    resume: 'I have signed in',
  },
  signIn: {
    title: 'Sign in',
    working: 'Signing you in …',
    withProvider: (name: string) => `Sign in with ${name}`,
    or: 'or with a key',
    key: 'Key',
    keyHint: 'You have it from whoever runs Lightwell.',
    wrongKey: 'This key is not valid. Check that all of it is there; it may also have expired.',
    used: 'This link was used already, or it is too old. Ask whoever sent it for a new one.',
    usedAtStart:
      'This link was used already, or it is too old. Ask whoever sent it for a new one; the server prints one whenever it starts.',
    wait: 'There were too many attempts from your network. Wait a minute, then try again.',
    unencrypted:
      'The connection to this server is not encrypted, so nobody can sign in over it. Whoever runs Lightwell has to put it behind https.',
    failed: {
      state: 'This sign-in was not begun in this browser, or it took too long. Begin again.',
      provider: 'The provider did not confirm who you are. Try again, or sign in with a key.',
      refused: 'The provider knows you, but you have no access here any more. Ask whoever runs Lightwell.',
    },
    none: 'No key?',
    ask: 'Ask whoever runs Lightwell for an invitation: a link that signs you in.',
    atStart:
      'If you run Lightwell on this machine: it prints an address when it starts, which signs you in. Otherwise ask for an invitation.',
    signedIn: (name: string) => `You are signed in as ${name}`,
    goOn: 'Go on',
    nothingOpen: 'Nothing is open to you yet',
    nothingOpenText: (name: string) =>
      `You are signed in as ${name}, but nobody has given you access to any documents so far. Tell whoever runs Lightwell; it holds as soon as they have done it.`,
    look: 'Look again',
  },
  account: {
    theme: 'Appearance',
    themes: { system: 'As the system', light: 'Light', dark: 'Dark' },
    language: 'Language',
    signOut: 'Sign out',
    signOutEverywhere: 'Sign out everywhere',
    keys: 'Keys',
  },
  keys: {
    title: 'Keys',
    ask: 'Ask a question',
    close: 'Close what is open',
    goAsk: 'Go to Ask',
    goDocuments: 'Go to Documents',
    goMap: 'Go to Map',
    goReview: 'Go to Review',
    show: 'Show all keys',
  },
  setup: {
    groups: { people: 'People', documents: 'Documents', answers: 'Answers', server: 'Server' },
    parts: {
      models: 'Models',
    },
  },
};

export type Words = typeof en;
