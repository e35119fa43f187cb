/** `fhir package`: administers packages of definitions for validation, besides those of R4 and US Core. */
import { existsSync } from 'node:fs'
import { Command, InvalidArgumentError } from 'commander'
import {
  type AddedPackage,
  addPackage,
  type ListedPackage,
  listCapabilities,
  listPackages,
  type MissingPackage,
  openPackages,
  type PackageAdministration,
  type PackageReference,
  type PackageSource,
  parsePackageReference,
  parsePackageRequest,
  removePackage,
} from '../../lambdas/runtime/control/package-commands.ts'
import { dataFolderAt } from '../../lambdas/runtime/control/server-socket.ts'
import { formatCount, print, toOneLine, warn } from '../output.ts'
import { formatTable, readStageDeployment, requireOutput, type ServerLocationOptions, withLocationOptions } from './administration.ts'
import { serverLocationOf, withExamples } from './options.ts'

/** Maximum warnings of one kind that are printed. Of the others only the number is printed. */
const MAX_LINES = 20

type AddOptions = ServerLocationOptions & { readonly withDependencies?: boolean; readonly dryRun?: boolean; readonly drafts?: boolean }

const add = new Command('add')
  .description('add a package of R4 definitions; the server uses it at once, on AWS within ten seconds')
  .argument(
    '<package>',
    'its archive, FILE.tgz, or NAME@VERSION of the registry that FHIR_PACKAGE_REGISTRY names; also NAME@1.0.x, NAME@latest',
  )
  .option(
    '--with-dependencies',
    'with the packages it depends on, those of these too, from the registry, or exit code 1; without it they are named',
  )
  .option('--drafts', 'search also by search parameters that are drafts and whose code nothing else defines')
  .option('--dry-run', 'print what would be added and which types would be indexed again, and change nothing')
  .action(async (text: string, { withDependencies = false, dryRun: isDryRun = false, drafts = false, ...server }: AddOptions) => {
    const source = sourceOf(text)
    const options = { withDependencies, isDryRun, drafts: drafts ? 'activated' : 'inactive' } as const
    const all = await at(server, (packages) => addPackage(packages, source, options), !isDryRun)
    for (const added of all) {
      for (const line of warningsOf(added)) warn(toOneLine(line))
      print(`${added.name} ${added.version} ${isDryRun ? 'would be' : 'is'} added: ${contentOf(added)}\n`)
      if (added.rebuilt.length > 0)
        print(`${isDryRun ? 'To be indexed' : 'Indexed'} again while searches continue: ${added.rebuilt.map(formatRebuild).join(', ')}\n`)
    }
    if (withDependencies && all.some(({ missing }) => missing.length > 0)) process.exitCode = 1
  })

const formatRebuild = ({ type, documents }: AddedPackage['rebuilt'][number]): string =>
  documents === undefined ? type : `${type} (${formatCount(documents, 'document')})`

const remove = new Command('remove')
  .description('remove a package that was added; what was checked against it stays as it is')
  .argument('<package>', 'NAME@VERSION, or NAME where it is the only one of that name', parseReference)
  .action(async (reference: PackageReference, server: ServerLocationOptions) => {
    const label = await at(server, (packages) => removePackage(packages, reference))
    print(`${label.name} ${label.version} is removed\n`)
  })

type ListOptions = ServerLocationOptions & { readonly capabilities?: boolean }

const list = new Command('list')
  .description('list the packages of a server')
  .option('--capabilities', 'list instead the requirements in CapabilityStatements of packages that the server does not meet')
  .action(({ capabilities = false, ...server }: ListOptions) => (capabilities ? printCapabilities(server) : printPackages(server)))

async function printCapabilities(server: ServerLocationOptions): Promise<void> {
  for (const { canonical, missing } of await at(server, listCapabilities)) {
    print(`${canonical}: ${missing.length === 0 ? 'complete' : `${formatCount(missing.length, 'requirement')} not met`}\n`)
    for (const line of missing) print(`  ${toOneLine(line)}\n`)
  }
}

async function printPackages(server: ServerLocationOptions): Promise<void> {
  const rows = (await at(server, listPackages)).map(({ name, version, counts, isOwn, parameters }) => [
    ...[name, version],
    ...(counts === undefined ? ['', '', ''] : [counts.profiles, counts.valueSets, counts.codeSystems].map(String)),
    parameterStatesOf(parameters),
    counts === undefined ? 'damaged: remove it, and add it again' : isOwn ? 'built in' : '',
  ])
  print(formatTable([['NAME', 'VERSION', 'PROFILES', 'VALUE SETS', 'CODE SYSTEMS', 'SEARCH PARAMETERS', ''], ...rows]))
}

const STATES: Readonly<Record<ListedPackage['parameters'][number]['state'], string>> = {
  used: 'searched',
  building: 'building',
  waiting: 'searched after the next start',
  r4: "R4's own",
  shadowed: "another package's",
  inactive: 'not active',
  refused: 'refused',
}

/** Returns the number of parameters in each state, such as `5 searched (1 draft), 8 R4's own`. */
const parameterStatesOf = (parameters: ListedPackage['parameters']): string =>
  Object.entries(STATES)
    .flatMap(([state, text]) => {
      const found = parameters.filter((each) => each.state === state)
      const drafts = found.filter(({ isDraft }) => isDraft).length
      return found.length === 0 ? [] : [`${found.length} ${text}${drafts === 0 ? '' : ` (${formatCount(drafts, 'draft')})`}`]
    })
    .join(', ')

/** Runs `work` on the packages of the selected server and closes them afterwards. `isNew`: creates a missing store. */
async function at<T>(server: ServerLocationOptions, work: (packages: PackageAdministration) => Promise<T>, isNew = false): Promise<T> {
  const packages = server.stage === undefined ? await openFolder(server, isNew) : await openStage(server.stage)
  try {
    return await work(packages)
  } finally {
    await packages.close()
  }
}

async function openFolder(server: ServerLocationOptions, isNew: boolean): Promise<PackageAdministration> {
  const folder = await dataFolderAt(serverLocationOf(server))
  if (!existsSync(folder)) throw new Error(`There is no ${folder}: start a server on it first`)
  return openPackages(folder, isNew)
}

async function openStage(stage: string): Promise<PackageAdministration> {
  const { bucket, resourceTable, ...deployed } = await readStageDeployment(stage)
  const required = {
    bucket: requireOutput(stage, 'the bucket', bucket),
    resourceTable: requireOutput(stage, 'the table of the resources', resourceTable),
  }
  const { openDeployedPackages } = await import('../../lambdas/runtime/aws/packages.ts')
  return openDeployedPackages({ ...deployed, ...required })
}

function sourceOf(text: string): PackageSource {
  if (existsSync(text)) return { file: text }
  const label = parsePackageRequest(text)
  if (label === undefined) throw new Error(`There is no file ${text}, and it is not NAME@VERSION`)
  return label
}

function parseReference(text: string): PackageReference {
  const reference = parsePackageReference(text)
  if (reference === undefined) throw new InvalidArgumentError('NAME@VERSION, as `package list` has them.')
  return reference
}

function warningsOf({ missing, leftOut, ofR4, ofTenants, parameters, replaced }: AddedPackage): readonly string[] {
  const limited = (lines: readonly string[], rest: readonly [one: string, several: string]) =>
    lines.length > MAX_LINES ? [...lines.slice(0, MAX_LINES), formatCount(lines.length - MAX_LINES, ...rest)] : lines
  return [
    ...limited(missing.map(missed), ['more package that it depends on is not added', 'more packages that it depends on are not added']),
    ...limited(
      leftOut.map(({ url, reason }) => `${url} is not used: ${reason}`),
      ['more is not used', 'more are not used'],
    ),
    ...(ofR4.length === 0 ? [] : [`R4 also defines ${several(ofR4)}: a definition of the package is used only where its version is named`]),
    ...limited(
      parameters.flatMap(({ code, state, reason }) => {
        if (state === 'refused') return [`searches cannot use its parameter ${code}: ${reason}`]
        return state === 'shadowed' ? [`its parameter ${code} is not used: ${reason}`] : []
      }),
      ['more parameter is not used', 'more parameters are not used'],
    ),
    ...limited(
      replaced.map((each) => `searches by ${each.code} now use its parameter, and no longer that of ${nameOf(each.package)}`),
      ['more parameter is replaced', 'more parameters are replaced'],
    ),
    ...inactiveOf(parameters),
    ...limited(ofTenants.map(formatDefinition), [
      'more definition of a tenant is in the package',
      'more definitions of tenants are in the package',
    ]),
  ]
}

const nameOf = ({ name, version }: AddedPackage['replaced'][number]['package']): string => `${name} ${version}`

/** A search parameter of a tenant keeps its code. Validation uses the definitions of packages. */
function formatDefinition({ tenant, resource, name }: AddedPackage['ofTenants'][number]): string {
  const isParameter = resource.startsWith('SearchParameter/')
  const effect = isParameter ? 'the tenant keeps searching by its own' : 'validation uses that of the package'
  return `the tenant ${tenant} defines ${name} itself (${resource}): ${effect}`
}

function inactiveOf(parameters: AddedPackage['parameters']): readonly string[] {
  const count = parameters.filter(({ state }) => state === 'inactive').length
  return count === 0 ? [] : [`searches cannot use ${formatCount(count, 'search parameter')} that the package does not mark as active`]
}

const missed = ({ name, version, reason }: MissingPackage): string =>
  `it depends on ${name}@${version}, which is not added${reason === undefined ? ': add it too' : `, and cannot be added: ${reason}`}`

/** Maximum printed canonical URLs of a list. The command prints only the number of the others. */
const MAX_URLS = 3
const several = (urls: readonly string[]): string =>
  urls.length > MAX_URLS ? `${urls.slice(0, MAX_URLS).join(', ')} and ${urls.length - MAX_URLS} more of them` : urls.join(', ')

function contentOf({ counts: { profiles, valueSets, codeSystems }, parameters }: Pick<AddedPackage, 'counts' | 'parameters'>): string {
  const added = parameters.filter(({ state }) => state === 'used').length
  return [
    formatCount(profiles, 'profile or extension', 'profiles and extensions'),
    formatCount(valueSets, 'value set'),
    formatCount(codeSystems, 'code system'),
    ...(added === 0 ? [] : [formatCount(added, 'new search parameter')]),
  ].join(', ')
}

export const packageCommand = new Command('package')
  .description('packages of definitions for validation, besides R4 and US Core 6.1.0')
  .addCommand(
    withExamples(withLocationOptions(add), [
      'npm run -s fhir -- package add hl7.fhir.us.core@7.0.0',
      'npm run -s fhir -- package add guide.tgz',
    ]),
  )
  .addCommand(withExamples(withLocationOptions(list), ['npm run -s fhir -- package list']))
  .addCommand(withExamples(withLocationOptions(remove), ['npm run -s fhir -- package remove hl7.fhir.us.core@7.0.0']))
