/**
 * Bundles the code of the functions with esbuild. Each function gets a folder with one minified file, and the files that it loads on first
 * use. The bundles contain all dependencies, also the AWS SDK. Their format is CommonJS, because it starts faster than ES modules.
 * https://esbuild.github.io/api/
 */
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative } from 'node:path'
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild'
import type { AdditionalResources } from '../lambdas/export/additional-resources.ts'
import { FUNCTIONS, type FunctionName } from '../lambdas/functions/functions.ts'
import { LATER, ONCE } from './bundle-parts.ts'
import { explorerAssets } from './explorer-assets.ts'

export type Bundle = {
  /** Folder of the bundle. The file with the handler is named after the function. */
  readonly folder: string
  /** Hash of the files. The same code gives the same hash, regardless of the machine and folder in which it is bundled. */
  readonly hash: string
}

export type Bundles = Readonly<Record<FunctionName, Bundle>>

const ROOT = join(import.meta.dirname, '..')
/** Entry points of the functions, by function name. */
const ENTRY_POINTS: ReadonlyMap<string, string> = new Map(
  readdirSync(join(ROOT, 'lambdas/functions'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => [basename(path, '.ts'), `./lambdas/functions/${path}`]),
)

/** Returns the path of a function's entry point, relative to the root. Throws Error if there is none. */
export function entryPointOf(name: FunctionName): string {
  const path = ENTRY_POINTS.get(name)
  if (path === undefined) throw new Error(`lambdas/functions has no file ${name}.ts`)
  return path
}

/** Folder of the built-in definition packages. Each package is a subfolder. */
const PACKAGES = 'lambdas/fhir/definitions/packages'

export type BundleOptions = {
  /** Rules of the stage that replace the default rules. */
  readonly additional?: AdditionalResources | undefined
}

type Outputs = Metafile['outputs']

/** Bundles all functions into `to`, with source maps in its folder `maps`. Throws Error if a plugin or a LATER file matches no import. */
export async function bundle(to: string, { additional }: BundleOptions = {}): Promise<Bundles> {
  const names = Object.keys(FUNCTIONS) as FunctionName[]
  const entryPoints = [
    ...names.map((name) => ({ in: entryPointOf(name), out: name })),
    ...Object.entries(LATER).map(([out, { entry }]) => ({ in: entry, out })),
  ]
  const builds = await Promise.all([
    build({ ...buildOptionsOf(additional), entryPoints, outdir: 'out' }),
    build({
      ...BUILD_OPTIONS,
      plugins: [],
      stdin: { contents: ONCE.map((path) => `export * from '${path}'`).join('\n'), resolveDir: ROOT },
      outfile: `out/${ERRORS}.js`,
    }),
  ])
  const outputs: Outputs = Object.assign({}, ...builds.map(({ metafile }) => metafile.outputs))
  const unmatched = findUnmatchedNames(builds[0].metafile, additional !== undefined)
  if (unmatched.length > 0) throw new Error(`lib/bundle-parts.ts: no import matches the pattern of ${unmatched.join(', ')}`)
  const built = new Map(
    builds.flatMap(({ outputFiles }) => outputFiles).map(({ path, contents }) => [path.slice(path.lastIndexOf('/') + 1), contents]),
  )
  mkdirSync(join(to, 'maps'), { recursive: true })
  for (const [name, contents] of built) if (name.endsWith('.map')) writeFileSync(join(to, 'maps', name), contents)
  const packages = packageFiles()
  const besides = (name: FunctionName) => (FUNCTIONS[name].ports.includes('conformance') ? packages : new Map())
  return Object.fromEntries(names.map((name) => [name, written(join(to, name), `${name}.js`, built, outputs, besides(name))])) as Bundles
}

/** Returns the plugins and LATER files that match no import. A moved module would otherwise stay in the bundles unnoticed. */
export function findUnmatchedNames({ inputs, outputs }: Pick<Metafile, 'inputs' | 'outputs'>, hasAdditional: boolean): readonly string[] {
  const external = new Set(Object.values(outputs).flatMap(({ imports }) => imports.map(({ path }) => path)))
  const spaces = new Set(Object.keys(inputs).map((path) => path.split(':')[0]!))
  const files = [...Object.keys(LATER), ERRORS].filter((name) => !external.has(`./${name}.js`))
  const replaced = [...REPLACED, ...(hasAdditional ? [ADDITIONAL] : [])].filter((name) => !spaces.has(name))
  return [...files, ...replaced]
}

/** Returns the bundles that an earlier call of `bundle` wrote to the folder. */
export const readBundles = (folder: string): Bundles =>
  Object.fromEntries(
    Object.keys(FUNCTIONS).map((name) => [name, { folder: join(folder, name), hash: hashOf(filesIn(join(folder, name))) }]),
  ) as Bundles

/** Returns all files of the folder, by their relative paths. */
const filesIn = (folder: string): ReadonlyMap<string, Uint8Array> =>
  new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [relative(folder, path), readFileSync(path)]),
  )

/** Build options of every bundle. Tests also use them to build bundles for comparison. */
export const BUILD_OPTIONS = {
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
  // The SDK's ES modules are a third smaller, so they come first. The decimal.js of fhirpath only works as CommonJS.
  mainFields: ['module', 'main'],
  alias: { 'decimal.js': join(ROOT, 'node_modules/decimal.js/decimal.js') },
  logLevel: 'error' as const,
  plugins: [later(), once(), programs(), packages(), environmentCredentials(), transportOnly(), explorerAssets()],
} satisfies BuildOptions

/** Returns the build options. `additional`: rules of the stage that replace the default rules. */
export const buildOptionsOf = (additional: AdditionalResources | undefined) =>
  additional === undefined ? BUILD_OPTIONS : { ...BUILD_OPTIONS, plugins: [...BUILD_OPTIONS.plugins, additionalResources(additional)] }

/** Returns the files of the built-in packages. A function reads them at run time, when a request needs one of their definitions. */
function packageFiles(): ReadonlyMap<string, Uint8Array> {
  const folder = join(ROOT, PACKAGES)
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.json'))
  return new Map(paths.sort().map((path) => [join('packages', path), readFileSync(join(folder, path))]))
}

/** Writes the files of a function and returns its bundle. `besides`: files that the function reads at run time without an import. */
function written(
  folder: string,
  handler: string,
  built: ReadonlyMap<string, Uint8Array>,
  outputs: Outputs,
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
  // Declares the files as CommonJS, regardless of any package.json in a parent folder.
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

/** Name of the file that contains the modules of ONCE. */
const ERRORS = 'errors'
/** Names of the plugins that replace a module in every build. */
const REPLACED = ['programs', 'packages', 'credentials', 'transport', 'explorer']
/** Name of the plugin for stages with rules of their own for additional resources. */
const ADDITIONAL = 'additional-resources'

function once(): Plugin {
  const paths = new Set(ONCE.map((path) => join(ROOT, path)))
  return {
    name: 'once',
    setup({ onResolve }) {
      onResolve({ filter: /^\.{1,2}\/.*\.ts$/ }, ({ path, resolveDir }) =>
        paths.has(join(resolveDir, path)) ? { path: `./${ERRORS}.js`, external: true, sideEffects: false } : undefined,
      )
    },
  }
}

/** Creates the plugin for LATER. A dynamic import loads the separate file. A static import gets an object that loads it on first use. */
function later(): Plugin {
  return {
    name: 'later',
    setup({ onResolve, onLoad }) {
      for (const [name, { entry, imported }] of Object.entries(LATER)) {
        const file = `./${name}.js`
        onResolve({ filter: imported }, ({ kind }) => {
          if (kind === 'entry-point') return undefined
          return kind === 'dynamic-import' ? { path: file, external: true } : { path: name, namespace: 'later', sideEffects: false }
        })
        onResolve({ filter: new RegExp(`^\\./${name}\\.js$`), namespace: 'later' }, () => ({ path: file, external: true }))
        onLoad({ filter: new RegExp(`^${name}$`), namespace: 'later' }, async () => {
          const getters = (await exportsOf(entry)).map((each) => `get ${each}() { return require('${file}').${each} }`)
          return { contents: `module.exports = { ${getters.join(', ')} }` }
        })
      }
    },
  }
}

/** Returns the export names of a project module or CommonJS package. The object of `later` has these names only. */
async function exportsOf(entry: string): Promise<readonly string[]> {
  if (!entry.startsWith('.')) return Object.keys(createRequire(import.meta.url)(entry))
  const { metafile } = await build({
    entryPoints: [entry],
    absWorkingDir: ROOT,
    write: false,
    outdir: 'out',
    format: 'esm',
    metafile: true,
  })
  return Object.values(metafile.outputs).flatMap(({ exports }) => exports)
}

/** Replaces the path of the expression program by the file beside the function's own file. */
function programs(): Plugin {
  return replacing('programs', /^\.\/expression-program\.ts$/, /./, [
    "export const EXPRESSION_PROGRAM = require.resolve('./expression-process.js')",
  ])
}

function packages(): Plugin {
  return replacing('packages', /^\.\/builtin-packages\.ts$/, /\/runtime\/[^/]+$/, [
    "import { join } from 'node:path'",
    `export const BUILTIN_PACKAGES = ${JSON.stringify(readdirSync(join(ROOT, PACKAGES)))}.map((name) => join(__dirname, 'packages', name))`,
  ])
}

/** Reads credentials from the environment only, where functions have theirs. The SDK would bundle clients for ten more sources. */
function environmentCredentials(): Plugin {
  return replacing('credentials', /^@aws-sdk\/credential-provider-node$/, /./, [
    "export { fromEnv as defaultProvider } from '@aws-sdk/credential-provider-env'",
  ])
}

/** Removes the client's methods for OpenSearch APIs, which are a third of a bundle. The adapter sends its own requests. */
function transportOnly(): Plugin {
  return replacing('transport', /^\.\.\/api\/OpenSearchApi$/, /opensearch\/lib\/Client\.js$/, ['module.exports = class {}'])
}

/** Replaces additional-resources.json by the rules of the stage, which are bundled in the same way. */
function additionalResources(additional: AdditionalResources): Plugin {
  return {
    name: ADDITIONAL,
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /\/additional-resources\.json$/ }, () => ({ path: ADDITIONAL, namespace: ADDITIONAL }))
      onLoad({ filter: /.*/, namespace: ADDITIONAL }, () => ({ contents: JSON.stringify(additional), loader: 'json' }))
    },
  }
}

function replacing(name: string, filter: RegExp, importer: RegExp, contents: readonly string[]): Plugin {
  return {
    name,
    setup({ onResolve, onLoad }) {
      onResolve({ filter }, (request) =>
        importer.test(request.importer) ? { path: name, namespace: name, sideEffects: false } : undefined,
      )
      onLoad({ filter: /.*/, namespace: name }, () => ({ contents: contents.join('\n'), resolveDir: join(ROOT, 'node_modules') }))
    },
  }
}
