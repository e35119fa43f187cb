/** `fhir backup`: writes a consistent copy of a data folder, or of its resources alone, also while its server runs. */
import { existsSync } from 'node:fs'
import { Command } from 'commander'
import { backupStore } from '../../lambdas/runtime/control/backup-command.ts'
import { backupFolder } from '../../lambdas/runtime/control/full-backup.ts'
import { print, warn } from '../output.ts'
import { dataOption, withExamples } from './options.ts'

type Options = { readonly data: string; readonly all?: boolean }

const backup = new Command('backup')
  .description('copy all resources with their histories into one file, or everything into a folder; the server may go on running')
  .argument('<path>', 'file to write, with --all a folder; must not exist')
  .option('--all', 'also clients, users, their grants, keys, packages and audit records: what a server needs to run again elsewhere')
  .addOption(dataOption('data folder of the server'))
  .action(async (path: string, { data, all }: Options) => {
    if (existsSync(path)) throw new Error(`${path} exists already`)
    await (all ? backupFolder : backupStore)(data, path, warn)
    print(`${data} is saved in ${path}${all ? '; guard it like the data folder: it holds signing keys and password digests' : ''}\n`)
  })

export const backupCommand = withExamples(backup, ['npm run -s fhir -- backup --all monday', 'npm run -s fhir -- backup monday.db'])
