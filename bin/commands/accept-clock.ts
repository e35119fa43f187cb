/** `fhir accept-clock`: confirms the clock of a server that refuses writes after a clock jump. */
import { Command } from 'commander'
import { acceptClock } from '../../lambdas/runtime/control/clock-command.ts'
import { print } from '../output.ts'
import { dataOption, withExamples } from './options.ts'

const command = new Command('accept-clock')
  .description('confirm that the clock is right, so that a server that refuses writes after a jump accepts them again')
  .addOption(dataOption('data folder of the server'))
  .action(async ({ data }: { readonly data: string }) => {
    await acceptClock(data)
    print(`The server of ${data} goes on with the clock as it is\n`)
  })

export const acceptClockCommand = withExamples(command, ['npm run -s fhir -- accept-clock'])
