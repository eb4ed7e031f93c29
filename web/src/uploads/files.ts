/** Files that somebody drops, pastes or chooses; a folder is its files. */

const MOST = 1000;

/** Return the files of a drop or a paste, those in folders included. Must be called in the event, before anything is awaited. */
export async function filesOf(data: DataTransfer | null): Promise<File[]> {
  if (!data) return [];
  const entries = [...data.items].map((item) => (item.kind === 'file' ? item.webkitGetAsEntry() : null));
  const plain = [...data.files];
  if (!entries.some((entry) => entry?.isDirectory)) return plain;
  const found: File[] = [];
  for (const entry of entries) if (entry) await collect(entry, found);
  return found;
}

export function hasFiles(event: DragEvent | ClipboardEvent): boolean {
  const data = event instanceof ClipboardEvent ? event.clipboardData : event.dataTransfer;
  return data?.types.includes('Files') ?? false;
}

async function collect(entry: FileSystemEntry, found: File[]): Promise<void> {
  // What a system keeps for itself in a folder (.DS_Store) is no document.
  if (found.length >= MOST || entry.name.startsWith('.')) return;
  if (isFile(entry)) found.push(await new Promise<File>((resolve, reject) => entry.file(resolve, reject)));
  if (!isFolder(entry)) return;
  const reader = entry.createReader();
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return;
    for (const inside of some) await collect(inside, found);
  }
}

function isFile(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile;
}

function isFolder(entry: FileSystemEntry): entry is FileSystemDirectoryEntry {
  return entry.isDirectory;
}
