/** Bundles the browser code of the explorer with esbuild. https://esbuild.github.io/api/ */
import { join } from 'node:path'
import { build, stop } from 'esbuild'

/**
 * Files that the pages load. `script` and `style`: names of the files that every page loads first. `files`: text by file name. The names
 * contain a hash of the content, so browsers may cache the files for as long as they like.
 */
export type Assets = { readonly script: string; readonly style: string; readonly files: Readonly<Record<string, string>> }

/** Returns the files of the explorer, minified. Equal sources give equal files. Throws if the sources do not bundle. */
export async function bundleExplorer(): Promise<Assets> {
  const { outputFiles } = await build({
    absWorkingDir: join(import.meta.dirname, 'browser'),
    entryPoints: [
      { in: 'main.ts', out: 'script' },
      { in: 'style.css', out: 'style' },
    ],
    bundle: true,
    splitting: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    outdir: 'assets',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    legalComments: 'none',
    logLevel: 'silent',
  })
  const files = Object.fromEntries(outputFiles.map(({ path, text }) => [path.slice(path.lastIndexOf('/') + 1), text]))
  const nameOf = (pattern: RegExp): string => Object.keys(files).find((name) => pattern.test(name))!
  return { script: nameOf(/^script-\w+\.js$/), style: nameOf(/^style-\w+\.css$/), files }
}

let running = 0

/**
 * Returns the files of `bundleExplorer`, and ends the process of esbuild after the last concurrent call, so that it takes no memory beside a
 * server. Other builds in this process would fail, so only the embedded server may call this.
 */
export async function bundleExplorerAndStop(): Promise<Assets> {
  running += 1
  try {
    return await bundleExplorer()
  } finally {
    running -= 1
    if (running === 0) await stop()
  }
}
