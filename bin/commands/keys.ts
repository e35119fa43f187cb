/** `fhir keys`: what tokens are signed with. */
import { Command } from 'commander'
import { type Administration, COPIES_LIVE, FOUND_WITHIN, rotateKeys, usedAt } from '../../lambdas/runtime/control/administration.ts'
import { say } from '../output.ts'
import { administered, type PlaceOptions, placed, table } from './administered.ts'
import { withExamples } from './options.ts'

const list = new Command('list')
  .description('list the keys that tokens are signed and verified with')
  .action(async (options: PlaceOptions) => {
    const keys = await administered(options, (ports) => ports.keys.list())
    if (keys.length === 0) return say('There are no keys: a server makes the first when it starts\n')
    const used = usedAt(keys, Date.now())
    const timeOf = (time: number | undefined): string => (time === undefined ? '' : new Date(time).toISOString())
    const rows = keys.map((each) => [each.key.kid, timeOf(each.madeAt), timeOf(each.retiredAt), each === used ? 'signs' : ''])
    say(table([['KID', 'MADE', 'RETIRES', ''], ...rows]))
  })

const rotate = new Command('rotate')
  .description('create a signing key; it is used after ten minutes, when all verifiers have fetched it, so that no token is refused')
  .option('--now', 'use it after fifteen seconds: verifiers that cache the published keys may refuse new tokens for some minutes')
  .action(async ({ now, ...place }: PlaceOptions & { readonly now?: boolean }) => {
    const rotated = async (ports: Administration) => {
      const made = await rotateKeys(ports, now ? FOUND_WITHIN : COPIES_LIVE)
      return { made, used: usedAt(await ports.keys.list(), ports.clock.now()) }
    }
    const { made, used } = await administered(place, rotated, true)
    // The first has none to take over from.
    const when = used?.key.kid === made.key.kid ? 'from now on' : now ? 'in fifteen seconds' : 'in ten minutes'
    say(`The key ${made.key.kid} is made and published, and signs ${when}\n`)
  })

export const keysCommand = new Command('keys')
  .description('list and rotate the keys that sign tokens')
  .addCommand(withExamples(placed(list), ['npm run -s fhir -- keys list']))
  .addCommand(withExamples(placed(rotate), ['npm run -s fhir -- keys rotate']))
