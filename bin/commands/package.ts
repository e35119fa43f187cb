/** `fhir package`: definitions that resources are checked against, besides R4's and US Core's. */
import { existsSync } from 'node:fs'
import { type Command as Built, Command, InvalidArgumentError } from 'commander'
import {
  type Added,
  addPackage,
  type Counts,
  labelFrom,
  listPackages,
  removePackage,
  type Source,
} from '../../lambdas/runtime/package-command.ts'
import { folderAt } from '../../lambdas/runtime/running-server.ts'
import { oneLine, say, warn } from '../output.ts'
import { table } from './administered.ts'
import { dataOption, placeOf, portOption, type ServerOptions, withExamples } from './options.ts'

/** Lines of one kind that are told. */
const TOLD = 20

const placed = (command: Built): Built =>
  command.addOption(dataOption('data folder of the server, which may be running')).addOption(portOption())

const add = new Command('add')
  .description('add a package of R4 to a server, which takes part at once; what it depends on is named, and not added with it')
  .argument('<package>', 'its archive, FILE.tgz, or NAME@VERSION of the registry that FHIR_PACKAGE_REGISTRY names')
  .action(async (text: string, options: ServerOptions) => {
    const source = sourceOf(text)
    const folder = await folderAt(placeOf(options))
    if (!existsSync(folder)) throw new Error(`There is no ${folder}: start a server on it first`)
    const added = await addPackage(folder, source)
    for (const line of warningsOf(added)) warn(oneLine(line))
    say(`${added.name} ${added.version} is added: ${counted(added.counts)}\n`)
  })

const remove = new Command('remove')
  .description('remove a package that was added; what was checked against it stays as it is')
  .argument('<package>', 'NAME@VERSION', labelOf)
  .action(async (label: ReturnType<typeof labelOf>, options: ServerOptions) => {
    await removePackage(await folderAt(placeOf(options)), label)
    say(`${label.name} ${label.version} is removed\n`)
  })

const list = new Command('list').description('list the packages of a server').action(async (options: ServerOptions) => {
  const rows = (await listPackages(await folderAt(placeOf(options)))).map(({ name, version, counts, isOwn }) => [
    ...[name, version],
    ...(counts === undefined ? ['', '', ''] : [counts.profiles, counts.valueSets, counts.codeSystems].map(String)),
    counts === undefined ? 'cannot be read: remove it, and add it again' : isOwn ? 'built in' : '',
  ])
  say(table([['NAME', 'VERSION', 'PROFILES', 'VALUE SETS', 'CODE SYSTEMS', ''], ...rows]))
})

function sourceOf(text: string): Source {
  if (existsSync(text)) return { file: text }
  const label = labelFrom(text)
  if (label === undefined) throw new Error(`There is no file ${text}, and it is not NAME@VERSION`)
  return label
}

function labelOf(text: string) {
  const label = labelFrom(text)
  if (label === undefined) throw new InvalidArgumentError('NAME@VERSION, as `package list` has them.')
  return label
}

function warningsOf({ missing, leftOut, ofR4 }: Added): readonly string[] {
  const told = (lines: readonly string[], what: string) =>
    lines.length > TOLD ? [...lines.slice(0, TOLD), `${lines.length - TOLD} more ${what}`] : lines
  return [
    ...told(
      missing.map(({ name, version }) => `it depends on ${name}@${version}, which is not there: add it, too`),
      'packages it depends on are not there',
    ),
    ...told(
      leftOut.map(({ url, reason }) => `${url} is not used: ${reason}`),
      'are not used',
    ),
    ...(ofR4.length === 0 ? [] : [`R4 itself says ${several(ofR4)}: what the package says counts only where its version is named`]),
  ]
}

/** Canonicals of a list that are told. */
const NAMED = 3
const several = (urls: readonly string[]): string =>
  urls.length > NAMED ? `${urls.slice(0, NAMED).join(', ')} and ${urls.length - NAMED} more of them` : urls.join(', ')

const counted = ({ profiles, valueSets, codeSystems }: Counts): string =>
  `${profiles} profiles and extensions, ${valueSets} value sets, ${codeSystems} code systems`

export const packageCommand = new Command('package')
  .description('definitions that resources are checked against, besides those of R4 and US Core 6.1.0: for an embedded server')
  .addCommand(
    withExamples(placed(add), ['npm run -s fhir -- package add hl7.fhir.us.core@7.0.0', 'npm run -s fhir -- package add guide.tgz']),
  )
  .addCommand(withExamples(placed(list), ['npm run -s fhir -- package list']))
  .addCommand(withExamples(placed(remove), ['npm run -s fhir -- package remove hl7.fhir.us.core@7.0.0']))
