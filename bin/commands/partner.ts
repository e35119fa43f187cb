/** `fhir partner`: administers the organizations that get data of members by matches and exports: other payers, and providers. */
import { Command, InvalidArgumentError, Option } from 'commander'
import { type Client, isNpi, NPI, removeClient } from '../../lambdas/runtime/control/administration.ts'
import { readDisclosures } from '../../lambdas/runtime/control/disclosures.ts'
import type { ServerSettings } from '../../lambdas/runtime/control/server-settings.ts'
import { print } from '../output.ts'
import {
  collectOption,
  formatTable,
  jsonOption,
  openDisclosureRecords,
  readServerSettings,
  type ServerLocationOptions,
  warnAboutTenants,
  withAdministration,
  withLocationOptions,
} from './administration.ts'
import { parseTime } from './audit.ts'
import { keysOf, newKeyOf, registerClient, warnAboutNetworkAccess } from './client-keys.ts'
import { withExamples } from './options.ts'
import { describeClient, type JsonOptions, printClient } from './registered-client.ts'

type Partner = NonNullable<Client['partner']>

type Added = ServerLocationOptions &
  JsonOptions & {
    readonly kind: Partner['kind']
    readonly identifier: Partner['identifiers']
    readonly name?: string
    readonly tenant?: readonly string[]
    readonly jwks?: string
    readonly jwksUri?: string
    readonly newKey?: string
  }

/** Period of the matches, in milliseconds since 1970. */
type Period = { readonly from?: number; readonly to?: number }

/** Scopes of every partner. They open its own Groups, and what its matches and exports return. */
const SCOPES = ['system/*.rs']

const add = new Command('add')
  .description('register a partner: a client that signs, and gets data of members by matches and exports only')
  .argument('<id>', 'id of its client: 1 to 64 letters, digits, ".", "_" and "-"')
  .addOption(new Option('--kind <kind>', 'what the organization is').choices(['payer', 'provider']).makeOptionMandatory())
  .addOption(
    new Option(
      '--identifier <system|value>',
      'identifier of the organization, as Consents and Groups name it: its NPI, NAIC code or tax id (repeatable)',
    )
      .argParser(collectIdentifier)
      .makeOptionMandatory(),
  )
  .option('--name <text>', 'name of the organization (default: the id)')
  .option('--tenant <name>', 'tenant whose members it may match (repeatable) (default: "default")', collectOption)
  .addOption(new Option('--jwks <file>', 'its public keys: a JSON Web Key Set').conflicts(['jwksUri', 'newKey']))
  .addOption(new Option('--jwks-uri <url>', 'https URL at which it publishes its keys').conflicts('newKey'))
  .option('--new-key <file>', 'create its key, for tests: the private JSON Web Key is written to the file')
  .addOption(jsonOption('the partner'))
  .action(async (id: string, options: Added) => {
    const { kind, identifier: identifiers, name = id, tenant: tenants = ['default'] } = options
    const key = newKeyOf(options)
    const authentication = key?.keys ?? keysOf({ jwks: options.jwks, jwksUri: options.jwksUri })
    if (authentication === undefined) throw new Error('Name the keys of the partner: --jwks FILE, --jwks-uri URL or --new-key FILE')
    const common = { id, name, scopes: SCOPES, redirectUris: [], tenants, mayIntrospect: false }
    const added = await registerClient(options, { ...common, authentication, partner: { kind, identifiers } }, key)
    const effect = kind === 'payer' ? `\n${effectOf(await readServerSettings(options))}` : ''
    printClient(added, options, `The partner ${id} is registered as a ${kind}${effect}`)
    await warnAboutTenants(options, id, tenants)
    await warnAboutNetworkAccess(added)
  })

/** Describes the effect of a Consent for all data that is not sensitive. Most Consents between payers are of this kind. */
function effectOf({ sensitiveLabels: labels }: ServerSettings): string {
  const permitted = labels === 'unknown' ? 'nothing' : labels === 'none' ? 'all data' : `all data without the labels ${labels.join(', ')}`
  return `A Consent that excludes sensitive data permits ${permitted} (FHIR_SENSITIVE_LABELS)`
}

function collectIdentifier(text: string, before: Partner['identifiers'] = []): Partner['identifiers'] {
  const [system = '', value = '', ...more] = text.split('|')
  if (system === '' || value === '' || more.length > 0)
    throw new InvalidArgumentError('Write SYSTEM|VALUE, as http://hl7.org/fhir/sid/us-npi|1234567893.')
  if (system === NPI && !isNpi(value))
    throw new InvalidArgumentError('This NPI is wrong: an NPI has ten digits, and the last one is a check digit of the others.')
  return [...before, { system, value }]
}

const list = new Command('list')
  .description('list the partners')
  .addOption(jsonOption('one partner a line,'))
  .action(async (options: ServerLocationOptions & JsonOptions) => {
    const partners = (await withAdministration(options, ({ clients }) => clients.list())).filter(({ partner }) => partner !== undefined)
    if (options.json) return print(partners.map((client) => `${JSON.stringify(describeClient({ client }))}\n`).join(''))
    if (partners.length === 0) return print('There are no partners\n')
    print(formatTable([['ID', 'KIND', 'NAME', 'TENANTS', 'IDENTIFIERS'], ...partners.map(rowOf)]))
  })

const rowOf = ({ id, name, tenants, partner }: Client): readonly string[] => [
  ...[id, partner!.kind, name, tenants.join(' ')],
  partner!.identifiers.map(({ system, value }) => `${system}|${value}`).join(' '),
]

const remove = new Command('remove')
  .description('remove a partner and revoke its tokens')
  .argument('<id>', 'id of the partner')
  .action(async (id: string, options: ServerLocationOptions) => {
    await withAdministration(options, async (ports) => {
      if ((await ports.clients.get(id))?.partner === undefined) throw new Error(`There is no partner ${id}`)
      await removeClient(ports, id)
    })
    print(`The partner ${id} is removed. Its tokens are rejected within three seconds\n`)
    print('Do not register another organization under this id: it would get the Groups, Consents and files of this one\n')
  })

const matches = new Command('matches')
  .description('count the matches of a partner, by outcome')
  .argument('<id>', 'id of the partner')
  .addOption(new Option('--from <time>', 'from this date or time on, or from 30m, 12h or 7d ago (default: all)').argParser(parseTime))
  .addOption(new Option('--to <time>', 'before this date or time (default: now)').argParser(parseTime))
  .addOption(jsonOption('the counts'))
  .action(async (partner: string, { from, to, json, ...place }: ServerLocationOptions & JsonOptions & Period) => {
    const records = await openDisclosureRecords(place)
    const counts: Record<string, number> = {}
    const period = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }
    for await (const { kind, outcome } of readDisclosures(records, { partner, ...period }))
      if (kind === 'match') counts[outcome] = (counts[outcome] ?? 0) + 1
    if (json) return print(`${JSON.stringify(counts)}\n`)
    if (Object.keys(counts).length === 0) return print(`There are no matches of ${partner}\n`)
    const rows = Object.entries(counts).sort(([, a], [, b]) => b - a)
    print(formatTable([['OUTCOME', 'MEMBERS'], ...rows.map(([outcome, count]) => [outcome, String(count)])]))
  })

export const partnerCommand = new Command('partner')
  .description('register, list and remove organizations that get data of members: other payers, and providers')
  .addCommand(
    withExamples(withLocationOptions(add), [
      "npm run -s fhir -- partner add other-payer --kind payer --identifier 'http://hl7.org/fhir/sid/us-npi|1234567893' --jwks-uri https://payer.example.org/jwks.json",
    ]),
  )
  .addCommand(withExamples(withLocationOptions(list), ['npm run -s fhir -- partner list --json']))
  .addCommand(withExamples(withLocationOptions(matches), ['npm run -s fhir -- partner matches other-payer --from 30d']))
  .addCommand(withExamples(withLocationOptions(remove), ['npm run -s fhir -- partner remove other-payer']))
