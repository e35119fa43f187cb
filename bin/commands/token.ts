/**
 * `fhir token`: prints an access token. Without a client it is a token of a server on this machine, for operators, who can read its data
 * anyway. With a client and its key it is a token of that client, of any server.
 */
import { Command, Option } from 'commander'
import { noServerMessage, type ServerLocation } from '../../lambdas/runtime/control/server-socket.ts'
import { requestServerToken } from '../../lambdas/runtime/control/token-command.ts'
import { requestAssertionToken } from '../client/assertion-token.ts'
import { print } from '../output.ts'
import { dataOption, parseBaseUrl, portOption, type ServerOptions, serverLocationOf, withExamples } from './options.ts'
import { readSigningKey } from './read-text.ts'
import { BASE_URL_HELP, selectBaseUrl } from './server-url.ts'

type Options = ServerOptions & {
  readonly admin?: boolean
  readonly tenant?: string
  readonly client?: string
  readonly key?: string
  readonly scope: string
  readonly patient?: string
  readonly from?: string
}

const token = new Command('token')
  .description(
    'print an access token of a server on this machine, valid for an hour, with the scope system/*.cruds; or a token of a client with a registered key',
  )
  .option('--admin', 'one that may also define search parameters, reindex, and explain searches: system/admin')
  .option('--tenant <name>', 'one for the data of this tenant; else each request chooses by X-Tenant-Id')
  .addOption(
    new Option('--client <id>', 'client with a registered key, such as a partner: prints a token of this client').conflicts([
      'admin',
      'tenant',
      'port',
    ]),
  )
  .option('--key <file>', 'private JSON Web Key of the client')
  .option('--scope <scopes>', 'scopes that the client requests', 'system/*.rs')
  .option('--patient <id>', 'member whose data the token of a partner also opens: an id, or SYSTEM|VALUE of an identifier')
  .option('--from <url>', `${BASE_URL_HELP}, for --client`, parseBaseUrl)
  .addOption(dataOption('data folder of the server'))
  .addOption(portOption())
  .action(async (options: Options, command: Command) => {
    const { admin = false, tenant, client, key } = options
    if (client !== undefined && key !== undefined) return print(`${await clientToken({ ...options, client, key }, command)}\n`)
    if (client !== undefined || key !== undefined || options.from !== undefined || options.patient !== undefined)
      throw new Error('--client ID and --key FILE (its private JSON Web Key) require each other; --from and --patient require both')
    const isNamed = options.port !== undefined || command.getOptionValueSource('data') !== 'default'
    const servers: readonly ServerLocation[] = isNamed ? [serverLocationOf(options)] : [serverLocationOf(options), USUAL]
    for (const server of servers) {
      const token = await requestServerToken(server, { isAdministrator: admin, ...(tenant === undefined ? {} : { tenant }) })
      if (token !== undefined) return print(`${token}\n`)
    }
    throw new Error(`${servers.map(noServerMessage).join('. ')}: start one, or name another by --data or --port`)
  })

/** Location of a server that was started with --memory and the default port. */
const USUAL: ServerLocation = { port: 8080 }

async function clientToken(
  { client, key: file, scope, patient, from }: Options & { client: string; key: string },
  command: Command,
): Promise<string> {
  const key = readSigningKey(file)
  return requestAssertionToken({
    ...{ base: await selectBaseUrl(from, command), client, key, scope },
    ...(patient === undefined ? {} : { patient }),
  })
}

export const tokenCommand = withExamples(token, [
  'TOKEN=$(npm run -s fhir -- token)',
  'curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:8080/fhir/Patient?_count=3',
  'npm run -s fhir -- token --client other-payer --key other-payer.json',
  'npm run -s fhir -- token --client other-payer --key other-payer.json --patient Patient1',
])
