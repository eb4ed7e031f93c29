import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';
import { compressed, licences, noted } from './plugins.ts';

// The server that `npm run dev` asks; another one by LIGHTWELL_URL.
const server = process.env['LIGHTWELL_URL'] ?? 'http://127.0.0.1:8000';

const packages = new Set<string>();

export default defineConfig({
  plugins: [svelte(), noted(packages), licences(packages), compressed()],
  worker: { plugins: () => [noted(packages)] },
  build: {
    outDir: '../src/lightwell/entrypoints/web',
    emptyOutDir: true,
    manifest: true,
    // A picture in the page's own text would need `data:` in the Content-Security-Policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: { index: 'index.html', docs: 'docs.html' },
      checks: { pluginTimings: false },
    },
    chunkSizeWarningLimit: 2000, // the reference, which only /docs loads; tests/browser holds the first view to 150 kB
  },
  server: { proxy: { '/v1': server, '/openapi.json': server } },
});
