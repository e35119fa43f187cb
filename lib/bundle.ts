/**
 * The code of the functions: for each a folder with one minified file, and beside it what it loads only when it first needs it. Everything is
 * in there, also the AWS SDK. CommonJS, because it starts faster than ES modules. https://esbuild.github.io/api/
 */
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild'
import type { AdditionalResources } from '../lambdas/export/additional-resources.ts'
import { FUNCTIONS, type FunctionName } from '../lambdas/functions/functions.ts'

export type Bundle = {
  /** Its handler's file is named as the function. */
  readonly folder: string
  /** The same for the same code, whoever makes it and where. */
  readonly hash: string
}

export type Bundles = Readonly<Record<FunctionName, Bundle>>

/** Files of their own, which the others load when they need them: `exports` are the names static imports ask for. */
const LATER: Readonly<Record<string, { readonly entry: string; readonly imported: RegExp; readonly exports?: readonly string[] }>> = {
  's3-blob-store': { entry: './lambdas/adapters/s3/open-blob-store.ts', imported: /^\.\/open-blob-store\.ts$/ },
  fhirpath: { entry: 'fhirpath', imported: /^fhirpath$/ },
  'fhirpath-r4': { entry: 'fhirpath/fhir-context/r4', imported: /^fhirpath\/fhir-context\/r4$/ },
  profiles: {
    entry: './lambdas/interactions/profile-findings.ts',
    imported: /\/profile-findings\.ts$/,
    exports: ['damaged', 'findInProfiles', 'loading', 'namedBy', 'notChecked', 'ownDefinitions', 'toldOfDefinition'],
  },
  definitions: { entry: './lambdas/fhir/definitions/r4.ts', imported: /\/definitions\/r4\.ts$/, exports: ['R4'] },
  granular: { entry: './lambdas/access/granular.ts', imported: /\/granular\.ts$/, exports: ['conditionOf', 'isDecidable', 'meetsInside'] },
  'jwt-verifier': {
    entry: './lambdas/access/verification/jwt-verifier.ts',
    imported: /^\.\/jwt-verifier\.ts$/,
    exports: ['JwtVerifier', 'JwtInvalidAudienceError', 'JwtInvalidSignatureError'],
  },
  expressions: { entry: './lambdas/runtime/expressions.ts', imported: /^\.\/expressions\.ts$/, exports: ['expressionRunner'] },
  'expression-process': { entry: './lambdas/runtime/expression-process.ts', imported: /^\.\/expression-process\.ts$/ },
  'fetch-document': { entry: './lambdas/adapters/https/fetch-document.ts', imported: /\/https\/fetch-document\.ts$/ },
  ucum: { entry: '@lhncbc/ucum-lhc', imported: /^@lhncbc\/ucum-lhc$/, exports: ['UcumLhcUtils'] },
}

const ROOT = join(import.meta.dirname, '..')
/** A folder for each package of definitions. */
const PACKAGES = 'lambdas/fhir/definitions/packages'

export type BundleOptions = {
  /** Rules of the stage in the place of the default. */
  readonly additional?: AdditionalResources | undefined
}

/** `to`: gets the folders, and the source maps in `maps`. */
export async function bundle(to: string, { additional }: BundleOptions = {}): Promise<Bundles> {
  const names = Object.keys(FUNCTIONS) as FunctionName[]
  const { outputFiles, metafile } = await build({
    ...optionsWith(additional),
    entryPoints: [
      ...names.map((name) => ({ in: `./lambdas/functions/${name}.ts`, out: name })),
      ...Object.entries(LATER).map(([out, { entry }]) => ({ in: entry, out })),
    ],
    outdir: 'out',
  })
  const built = new Map(outputFiles.map(({ path, contents }) => [path.slice(path.lastIndexOf('/') + 1), contents]))
  mkdirSync(join(to, 'maps'), { recursive: true })
  for (const [name, contents] of built) if (name.endsWith('.map')) writeFileSync(join(to, 'maps', name), contents)
  const packages = packageFiles()
  const besides = (name: FunctionName) => (FUNCTIONS[name].includes('conformance') ? packages : new Map())
  return Object.fromEntries(names.map((name) => [name, written(join(to, name), `${name}.js`, built, metafile, besides(name))])) as Bundles
}

/** How every bundle is made; also for tests that make one to compare with. */
export const OPTIONS = {
  absWorkingDir: ROOT,
  bundle: true,
  write: false as const,
  metafile: true as const,
  minify: true,
  sourcemap: 'external' as const,
  legalComments: 'none' as const,
  platform: 'node' as const,
  target: 'node24',
  format: 'cjs' as const,
  // The ES modules of the SDK are a third smaller; fhirpath's decimal.js only works as CommonJS.
  mainFields: ['module', 'main'],
  alias: { 'decimal.js': join(ROOT, 'node_modules/decimal.js/decimal.js') },
  logLevel: 'error' as const,
  plugins: [later(), programs(), packages(), credentialsOfTheEnvironment(), transportOnly()],
} satisfies BuildOptions

/** Rules of a stage in the place of the default. */
export const optionsWith = (additional: AdditionalResources | undefined) =>
  additional === undefined ? OPTIONS : { ...OPTIONS, plugins: [...OPTIONS.plugins, additionalResources(additional)] }

/** Read when something in them is asked for. */
function packageFiles(): ReadonlyMap<string, Uint8Array> {
  const folder = join(ROOT, PACKAGES)
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.json'))
  return new Map(paths.sort().map((path) => [join('packages', path), readFileSync(join(folder, path))]))
}

/** `besides`: files that no import names. */
function written(
  folder: string,
  handler: string,
  built: ReadonlyMap<string, Uint8Array>,
  { outputs }: Metafile,
  besides: ReadonlyMap<string, Uint8Array>,
): Bundle {
  const files = new Map(besides)
  const add = (name: string): void => {
    if (files.has(name)) return
    files.set(name, built.get(name)!)
    const output = Object.entries(outputs).find(([path]) => path.endsWith(`/${name}`))![1]
    for (const { path, external } of output.imports) if (external && path.startsWith('./')) add(path.slice(2))
  }
  add(handler)
  // Whatever stands above the folder, these files are CommonJS.
  files.set('package.json', new TextEncoder().encode('{"type":"commonjs"}'))
  for (const [name, contents] of files) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), contents)
  }
  return { folder, hash: hashOf(files) }
}

function hashOf(files: ReadonlyMap<string, Uint8Array>): string {
  const hash = createHash('sha256')
  for (const [name, contents] of [...files].sort(([a], [b]) => (a < b ? -1 : 1)))
    hash.update(`${name} ${contents.length}\n`).update(contents)
  return hash.digest('hex')
}

/** A dynamic import loads the other file; a static one gets an object that loads it at the first use. */
function later(): Plugin {
  return {
    name: 'later',
    setup({ onResolve, onLoad }) {
      for (const [name, { imported, exports = [] }] of Object.entries(LATER)) {
        const file = `./${name}.js`
        onResolve({ filter: imported }, ({ kind }) => {
          if (kind === 'entry-point') return undefined
          return kind === 'dynamic-import' ? { path: file, external: true } : { path: name, namespace: 'later', sideEffects: false }
        })
        onResolve({ filter: new RegExp(`^\\./${name}\\.js$`), namespace: 'later' }, () => ({ path: file, external: true }))
        onLoad({ filter: new RegExp(`^${name}$`), namespace: 'later' }, () => ({
          contents: `module.exports = { ${exports.map((each) => `get ${each}() { return require('${file}').${each} }`).join(', ')} }`,
        }))
      }
    },
  }
}

/** The program of a process is a file beside the function's. */
function programs(): Plugin {
  return replacing('programs', /^\.\/expression-program\.ts$/, /./, [
    "export const EXPRESSION_PROGRAM = require.resolve('./expression-process.js')",
  ])
}

function packages(): Plugin {
  return replacing('packages', /^\.\/packages\.ts$/, /\/runtime\/[^/]+$/, [
    "import { join } from 'node:path'",
    `export const PACKAGES = ${JSON.stringify(readdirSync(join(ROOT, PACKAGES)))}.map((name) => join(__dirname, 'packages', name))`,
  ])
}

/** A function finds its credentials in the environment; the SDK would also look in ten other places, with clients for them. */
function credentialsOfTheEnvironment(): Plugin {
  return replacing('credentials', /^@aws-sdk\/credential-provider-node$/, /./, [
    "export { fromEnv as defaultProvider } from '@aws-sdk/credential-provider-env'",
  ])
}

/** The adapter sends its own requests: OpenSearch's client without a method for each of its APIs, which are a third of a bundle. */
function transportOnly(): Plugin {
  return replacing('transport', /^\.\.\/api\/OpenSearchApi$/, /opensearch\/lib\/Client\.js$/, ['module.exports = class {}'])
}

/** Bundled as the file that it replaces is. */
function additionalResources(additional: AdditionalResources): Plugin {
  return {
    name: 'additional-resources',
    setup({ onLoad }) {
      onLoad({ filter: /export\/additional-resources\.json$/ }, () => ({ contents: JSON.stringify(additional), loader: 'json' }))
    },
  }
}

function replacing(name: string, what: RegExp, importer: RegExp, contents: readonly string[]): Plugin {
  return {
    name,
    setup({ onResolve, onLoad }) {
      onResolve({ filter: what }, (asked) =>
        importer.test(asked.importer) ? { path: name, namespace: name, sideEffects: false } : undefined,
      )
      onLoad({ filter: /.*/, namespace: name }, () => ({ contents: contents.join('\n'), resolveDir: join(ROOT, 'node_modules') }))
    },
  }
}
