/** `fhir token`: an access token of a server that runs on this machine, for who may read its data anyway. */
import { Command } from 'commander'
import { tokenOfServer } from '../../lambdas/runtime/token-command.ts'
import { say } from '../output.ts'
import { dataOption, port } from './options.ts'

type Options = { readonly data: string; readonly port: number; readonly admin?: boolean; readonly tenant?: string }

export const tokenCommand = new Command('token')
  .description('print an access token of the server that runs on a data folder, good for an hour')
  .option('--admin', 'one that may also define search parameters, reindex, and explain searches')
  .option('--tenant <name>', 'one for the data of this tenant; else each request chooses by X-Tenant-Id')
  .addOption(dataOption('data folder of the server'))
  .option('--port <number>', 'port of a server that was started with --memory', port, 8080)
  .action(async ({ data, port, admin = false, tenant }: Options) => {
    const token = await tokenOfServer({ folder: data, port }, { isAdministrator: admin, ...(tenant === undefined ? {} : { tenant }) })
    if (token === undefined) throw new Error(`No server runs on ${data}, and none with --memory on port ${port}`)
    say(`${token}\n`)
  })
