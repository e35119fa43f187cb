/** `fhir backup`: writes a consistent copy of a data folder's resources, also while its server runs. */
import { existsSync } from 'node:fs'
import { Command } from 'commander'
import { backupStore } from '../../lambdas/runtime/control/backup-command.ts'
import { print, warn } from '../output.ts'
import { dataOption, withExamples } from './options.ts'

const backup = new Command('backup')
  .description('copy all resources with their histories into one file; the server may go on running')
  .argument('<file>', 'file to write; must not exist')
  .addOption(dataOption('data folder of the server'))
  .action(async (file: string, { data }: { readonly data: string }) => {
    if (existsSync(file)) throw new Error(`${file} exists already`)
    await backupStore(data, file, warn)
    print(`${data} is saved in ${file}\n`)
  })

export const backupCommand = withExamples(backup, ['npm run -s fhir -- backup monday.db'])
