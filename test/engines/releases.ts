/** This code bundled as a release: as it is, or as the next one, which has another extractor, one new folder of fields and one changed key. */
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { build, type Plugin } from 'esbuild'
import type { OpenSearchIndex } from '../../lambdas/adapters/opensearch/search-index.ts'
import type { documentFormatOf } from '../../lambdas/indexing/document-format.ts'
import type { changeFormat, formatChangesOf, recordFollowedVersions } from '../../lambdas/indexing/lifecycle/index-retention.ts'
import type { rebuildStep } from '../../lambdas/indexing/rebuild/rebuild-steps.ts'
import type { indexStream } from '../../lambdas/indexing/stream/index-stream.ts'
import type { findOutdatedParameters } from '../../lambdas/search/documents/outdated-parameters.ts'
import type { parseSearch } from '../../lambdas/search/query/query.ts'

export type Release = {
  readonly OpenSearchIndex: typeof OpenSearchIndex
  readonly documentFormatOf: typeof documentFormatOf
  readonly indexStream: typeof indexStream
  readonly formatChangesOf: typeof formatChangesOf
  readonly recordFollowedVersions: typeof recordFollowedVersions
  readonly changeFormat: typeof changeFormat
  readonly rebuildStep: typeof rebuildStep
  readonly findOutdatedParameters: typeof findOutdatedParameters
  readonly parseSearch: typeof parseSearch
}

type Change = { readonly file: string; readonly from: RegExp; readonly to: string }

export const NEXT_RELEASE_CHANGES: readonly Change[] = [
  { file: 'search/documents/extract.ts', from: /EXTRACTOR_VERSION = \d+$/m, to: 'EXTRACTOR_VERSION = 1_000' },
  { file: 'search/documents/changed-keys.ts', from: /^ {2}9: .*$/m, to: "  1000: ['string']," },
  { file: 'search/documents/changed-keys.ts', from: /from \+ 1 \+ i/, to: '1_000' },
  { file: 'adapters/opensearch/index-definition.ts', from: /^ {2}keys: KEYWORD,$/m, to: '  keys: KEYWORD,\n  marks: KEYWORD,' },
  {
    file: 'adapters/opensearch/document-body.ts',
    from: /^ {4}keys,\n {4}groups,$/m,
    to: "    keys,\n    marks: { next: ['yes'] },\n    groups,",
  },
  {
    file: 'search/types/string.ts',
    from: /keyPrefixPredicate\(field, foldText\(text\)\)/,
    to: "keyPrefixPredicate(field, '~' + foldText(text))",
  },
  { file: 'search/types/string.ts', from: /fields\.key\(field, folded\)/, to: "fields.key(field, '~' + folded)" },
]

const ROOT = join(import.meta.dirname, '../../lambdas')
const PARTS: Readonly<Record<keyof Release, string>> = {
  OpenSearchIndex: 'adapters/opensearch/search-index',
  documentFormatOf: 'indexing/document-format',
  indexStream: 'indexing/stream/index-stream',
  formatChangesOf: 'indexing/lifecycle/index-retention',
  recordFollowedVersions: 'indexing/lifecycle/index-retention',
  changeFormat: 'indexing/lifecycle/index-retention',
  rebuildStep: 'indexing/rebuild/rebuild-steps',
  findOutdatedParameters: 'search/documents/outdated-parameters',
  parseSearch: 'search/query/query',
}

/** `folder`: gets the file. */
export async function releaseOf(folder: string, name: string, changes: readonly Change[]): Promise<Release> {
  const contents = Object.entries(PARTS).map(([part, path]) => `export { ${part} } from './${path}.ts'`)
  const { outputFiles } = await build({
    stdin: { contents: contents.join('\n'), resolveDir: ROOT },
    bundle: true,
    write: false,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    mainFields: ['module', 'main'],
    logLevel: 'error',
    plugins: [changed(changes)],
  })
  const path = join(folder, `${name}.cjs`)
  writeFileSync(path, outputFiles[0]!.contents)
  return createRequire(import.meta.url)(path) as Release
}

/** Each text stands in its file once. */
function changed(changes: readonly Change[]): Plugin {
  return {
    name: 'changed',
    setup({ onLoad }) {
      onLoad({ filter: /\/lambdas\/.*\.ts$/ }, ({ path }) => {
        const own = changes.filter(({ file }) => path === join(ROOT, file))
        if (own.length === 0) return undefined
        const contents = own.reduce(
          (text, { file, from, to }) => {
            const parts = text.split(from)
            if (parts.length !== 2) throw new Error(`${file} has ${from} ${parts.length - 1} times`)
            return parts.join(to)
          },
          readFileSync(path, 'utf8'),
        )
        return { contents, loader: 'ts' }
      })
    },
  }
}
