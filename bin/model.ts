/** `npm run model`: prints the capacity, settings, limits and costs of a stage for a load. Exit code 1: the load does not fit. */
import { readFileSync } from 'node:fs'
import { Command, InvalidArgumentError } from 'commander'
import { DEFAULT_MIX, type Mix, parseMix } from '../lib/model/load.ts'
import { isTooLarge, modelOf } from '../lib/model/model.ts'
import { formatModel } from '../lib/model/report.ts'
import { withExamples } from './commands/options.ts'
import { print } from './output.ts'

type Options = {
  readonly resources: number
  readonly writes: number
  readonly reads: number
  readonly searches: number
  readonly mix?: Mix
}

const NUMBER = /^\d+(?:_\d+)*(?:\.\d+)?(?:e\d{1,2})?$/i

function parseNumber(text: string): number {
  if (!NUMBER.test(text)) throw new InvalidArgumentError('Write the number as 1000000, 1_000_000 or 1e6.')
  return Number(text.replaceAll('_', ''))
}

function parseCount(text: string): number {
  const number = parseNumber(text)
  if (number < 1 || number > MAX_RESOURCES) throw new InvalidArgumentError(`The number must be from 1 to ${MAX_RESOURCES}.`)
  return number
}

function parseRate(text: string): number {
  const number = parseNumber(text)
  if (number > MAX_RATE) throw new InvalidArgumentError(`The number must be at most ${MAX_RATE}.`)
  return number
}

function readMix(file: string): Mix {
  try {
    return parseMix(JSON.parse(readFileSync(file, 'utf8')))
  } catch (error) {
    throw new InvalidArgumentError(`${file}: ${(error as Error).message}.`)
  }
}

/** Larger loads are typing errors, and the model would count their parts one by one. */
const MAX_RESOURCES = 1e11
const MAX_RATE = 1e7

const command = new Command('model')
  .description('print the capacity, settings, limits and costs of a stage on AWS for a load; nothing is read from an account')
  .requiredOption('--resources <count>', 'stored resources', parseCount)
  .requiredOption('--writes <rate>', 'creates and updates per second, one resource each', parseRate)
  .requiredOption('--reads <rate>', 'reads per second', parseRate)
  .requiredOption('--searches <rate>', 'searches per second, 20 matches each', parseRate)
  .option(
    '--mix <file>',
    'JSON file that replaces parts of the assumed mix: creates, versions, types, identifiers (lib/docs/cost.md)',
    readMix,
  )
  .action(({ mix = DEFAULT_MIX, ...load }: Options) => {
    const model = modelOf({ ...load, mix })
    print(formatModel(model))
    process.exitCode = isTooLarge(model) ? 1 : 0
  })

withExamples(command, ['npm run -s model -- --resources 1e6 --writes 10 --reads 50 --searches 5']).parse()
