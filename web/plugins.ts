/** What the build adds to the page's files: the licences of what it bundles, and a compressed copy of each file. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Plugin } from 'vite';

const AT_LEAST_BYTES = 1024;

/** Notes the package of each module that is loaded: styles and workers are no modules of the page any more when it is written. */
export function noted(folders: Set<string>): Plugin {
  return {
    name: 'noted',
    apply: 'build',
    transform(_, id) {
      const folder = packageOf(id);
      if (folder) folders.add(folder);
    },
  };
}

/**
 * Writes what is in the page of packages: `licences.txt` with their notices, and `packages.cdx.json` (CycloneDX) for `make sbom`.
 * Fails where a package has no licence.
 */
export function licences(folders: ReadonlySet<string>): Plugin {
  return {
    name: 'licences',
    apply: 'build',
    generateBundle() {
      const packages = [...folders].sort().map(described);
      const texts = packages.map((part) => `${part.name} ${part.version} (${part.license})\n\n${part.notices}\n`);
      const components = packages.map(({ name, version, license }) => ({
        type: 'library',
        name,
        version,
        licenses: [{ license: { id: license } }],
        purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
      }));
      const list = { bomFormat: 'CycloneDX', specVersion: '1.6', version: 1, components };
      this.emitFile({ type: 'asset', fileName: 'licences.txt', source: texts.join(`\n${'─'.repeat(72)}\n\n`) });
      this.emitFile({ type: 'asset', fileName: 'packages.cdx.json', source: JSON.stringify(list, null, 1) });
    },
  };
}

/** Writes `file.gz` beside each larger file, so that the server compresses nothing. */
export function compressed(): Plugin {
  return {
    name: 'compressed',
    apply: 'build',
    writeBundle(options, bundle) {
      for (const name of Object.keys(bundle)) {
        const path = join(options.dir ?? '', name);
        if (!/\.(js|css|svg)$/.test(name) || statSync(path).size < AT_LEAST_BYTES) continue;
        writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level: 9 }));
      }
    },
  };
}

/** The folder of the package that a module is in, if it is in one. */
function packageOf(id: string): string | undefined {
  const path = id.replace(/^\0/, '').replace(/\?.*$/, '');
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0];
}

interface Package {
  name: string;
  version: string;
  license: string;
  notices: string;
}

function described(folder: string): Package {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Package;
  const files = readdirSync(folder).filter((file) => /licen[cs]e|notice|copying/i.test(file));
  if (!files.length || !license) throw new Error(`${name} has no licence: what is in the page needs one`);
  return {
    name,
    version,
    license,
    notices: files.map((file) => readFileSync(join(folder, file), 'utf8').trim()).join('\n\n'),
  };
}
