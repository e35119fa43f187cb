/** `fhir launch`: creates the launch with which an app opens for a patient, as a health record would. */
import { Command } from 'commander'
import { addLaunch, type Launch } from '../../lambdas/runtime/control/administration.ts'
import { requestLaunchAt } from '../../lambdas/runtime/control/launch-command.ts'
import { nameOfOperator } from '../../lambdas/runtime/operator-name.ts'
import { print } from '../output.ts'
import { type ServerLocationOptions, withAdministration, withLocationOptions } from './administration.ts'
import { serverLocationOf, withExamples } from './options.ts'

type Options = ServerLocationOptions & Launch

const launch = new Command('launch')
  .description('print a launch: the value that an app gets as the parameter launch; it works once, for ten minutes')
  .requiredOption('--client <id>', 'the app that is launched, registered for the scope launch')
  .option('--user <name>', 'user of the launch; no other user can continue it')
  .option('--patient <id>', 'the patient in context, without the type')
  .option('--encounter <id>', 'the encounter in context, without the type; it brings its patient')
  .option('--tenant <name>', 'tenant of the patient, where each tenant has its own data')
  .action(async ({ data, port, stage, ...launch }: Options) => {
    const token =
      stage === undefined
        ? await requestLaunchAt(serverLocationOf({ data, ...(port === undefined ? {} : { port }) }), { launch, operator: nameOfOperator() })
        : await withAdministration({ data, stage }, (ports) => addLaunch(ports, launch))
    print(`${token}\n`)
  })

export const launchCommand = withExamples(withLocationOptions(launch), [
  'npm run -s fhir -- launch --client demo --patient 58c297c4-d684-4677-8024-01131d93835e',
  'and open the app at its launch address, with ?iss=http://127.0.0.1:8080/fhir&launch= and what is printed',
])
