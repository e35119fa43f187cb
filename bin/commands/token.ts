/** `fhir token`: prints an access token of a server on this machine, for operators who can read its data anyway. */
import { Command } from 'commander'
import { noServerMessage, type ServerLocation } from '../../lambdas/runtime/control/server-socket.ts'
import { requestServerToken } from '../../lambdas/runtime/control/token-command.ts'
import { print } from '../output.ts'
import { dataOption, portOption, type ServerOptions, serverLocationOf, withExamples } from './options.ts'

type Options = ServerOptions & { readonly admin?: boolean; readonly tenant?: string }

const token = new Command('token')
  .description('print an access token of a server that runs here, good for an hour: system/*.cruds')
  .option('--admin', 'one that may also define search parameters, reindex, and explain searches: system/admin')
  .option('--tenant <name>', 'one for the data of this tenant; else each request chooses by X-Tenant-Id')
  .addOption(dataOption('data folder of the server'))
  .addOption(portOption())
  .action(async (options: Options, command: Command) => {
    const { admin = false, tenant } = options
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

export const tokenCommand = withExamples(token, [
  'TOKEN=$(npm run -s fhir -- token)',
  'curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:8080/fhir/Patient?_count=3',
])
