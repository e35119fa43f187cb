/** `fhir launch`: opens an app for a patient, as a health record would. */
import { Command } from 'commander'
import { launchFrom } from '../../lambdas/runtime/administration.ts'
import { say } from '../output.ts'
import { administered, type PlaceOptions, placed } from './administered.ts'

type Options = PlaceOptions & {
  readonly client: string
  readonly user?: string
  readonly patient?: string
  readonly encounter?: string
  readonly tenant?: string
}

const launch = new Command('launch')
  .description('make a launch: what an app gets as the parameter launch, counts once, and for ten minutes')
  .requiredOption('--client <id>', 'the app that is launched')
  .option('--user <name>', 'who launches it, and nobody else may go on')
  .option('--patient <id>', 'the patient in context')
  .option('--encounter <id>', 'the encounter in context')
  .option('--tenant <name>', 'whose they are')
  .action(async ({ data, stage, ...launch }: Options) => {
    const place = { data, ...(stage === undefined ? {} : { stage }) }
    const token = await administered(place, (ports) => launchFrom(ports, launch))
    say(`${token}\n`)
  })

export const launchCommand = placed(launch)
