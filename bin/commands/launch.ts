/** `fhir launch`: opens an app for a patient, as a health record would. */
import { Command } from 'commander'
import { type Launch, launchFrom } from '../../lambdas/runtime/control/administration.ts'
import { launchAt } from '../../lambdas/runtime/control/launch-command.ts'
import { nameOfOperator } from '../../lambdas/runtime/operator-name.ts'
import { say } from '../output.ts'
import { administered, type PlaceOptions, placed } from './administered.ts'
import { placeOf, withExamples } from './options.ts'

type Options = PlaceOptions & Launch

const launch = new Command('launch')
  .description('make a launch: what an app gets as the parameter launch, counts once, and for ten minutes')
  .requiredOption('--client <id>', 'the app that is launched, registered for the scope launch')
  .option('--user <name>', 'who launches it, and nobody else may go on')
  .option('--patient <id>', 'the patient in context, without the type')
  .option('--encounter <id>', 'the encounter in context, without the type; it brings its patient')
  .option('--tenant <name>', 'whose they are, where each tenant has its own')
  .action(async ({ data, port, stage, ...launch }: Options) => {
    const token =
      stage === undefined
        ? await launchAt(placeOf({ data, ...(port === undefined ? {} : { port }) }), { launch, operator: nameOfOperator() })
        : await administered({ data, stage }, (ports) => launchFrom(ports, launch))
    say(`${token}\n`)
  })

export const launchCommand = withExamples(placed(launch), [
  'npm run -s fhir -- launch --client demo --patient 58c297c4-d684-4677-8024-01131d93835e',
  'and open the app at its launch address, with ?iss=http://127.0.0.1:8080/fhir&launch= and what is printed',
])
