/** `fhir keys`: lists and rotates the keys that sign tokens. */
import { Command } from 'commander'
import {
  type Administration,
  KEY_COPY_LIFETIME_MS,
  KEY_DISCOVERY_MS,
  rotateKeys,
  signingKeyAt,
} from '../../lambdas/runtime/control/administration.ts'
import { print } from '../output.ts'
import { formatTable, type ServerLocationOptions, withAdministration, withLocationOptions } from './administration.ts'
import { withExamples } from './options.ts'

const list = new Command('list')
  .description('list the keys that tokens are signed and verified with')
  .action(async (options: ServerLocationOptions) => {
    const keys = await withAdministration(options, (ports) => ports.keys.list())
    if (keys.length === 0) return print('There are no keys: a server makes the first when it starts\n')
    const signing = signingKeyAt(keys, Date.now())
    const timeOf = (time: number | undefined): string => (time === undefined ? '' : new Date(time).toISOString())
    const rows = keys.map((each) => [each.key.kid, timeOf(each.madeAt), timeOf(each.retiredAt), each === signing ? 'signs' : ''])
    print(formatTable([['KID', 'MADE', 'RETIRES', ''], ...rows]))
  })

const rotate = new Command('rotate')
  .description('create a signing key; it is used after ten minutes, when all verifiers have fetched it, so that no token is refused')
  .option('--now', 'use it after fifteen seconds: verifiers that cache the published keys may refuse new tokens for some minutes')
  .action(async ({ now, ...server }: ServerLocationOptions & { readonly now?: boolean }) => {
    const rotated = async (ports: Administration) => {
      const newKey = await rotateKeys(ports, now ? KEY_DISCOVERY_MS : KEY_COPY_LIFETIME_MS)
      return { newKey, signing: signingKeyAt(await ports.keys.list(), ports.clock.now()) }
    }
    const { newKey, signing } = await withAdministration(server, rotated, true)
    // The first key signs at once, because it has no previous key to replace.
    const when = signing?.key.kid === newKey.key.kid ? 'from now on' : now ? 'in fifteen seconds' : 'in ten minutes'
    print(`The key ${newKey.key.kid} is made and published, and signs ${when}\n`)
  })

export const keysCommand = new Command('keys')
  .description('list and rotate the keys that sign tokens')
  .addCommand(withExamples(withLocationOptions(list), ['npm run -s fhir -- keys list']))
  .addCommand(withExamples(withLocationOptions(rotate), ['npm run -s fhir -- keys rotate']))
