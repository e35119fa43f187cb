/** What a person attests in Inferno, as far as a server shows it. */
import { expect } from '@jest/globals'
import { FLOWS } from './flows.ts'
import { authorizationRequestOf, type KitRow, openAuthorizePage, rowsOfEachLaunch, type Site } from './kit.ts'

const G10 = 'g10/g10_visual_inspection_and_attestations'
/** Seconds of the longest three months. */
const THREE_MONTHS = 92 * 24 * 60 * 60

const REFRESH = rowsOfEachLaunch((of) => [
  [
    `${G10} Test05, Test13`,
    'a refresh token counts for three months',
    (site) => expect(of(site).token.body.refresh_expires_in).toBeGreaterThanOrEqual(THREE_MONTHS),
  ],
  [
    'g10/g10_refresh_token_refresh_attestation',
    'a refresh gives another three months',
    (site) => {
      const { refresh_expires_in, refresh_token } = of(site).refreshed.body
      expect([refresh_expires_in >= THREE_MONTHS, refresh_token === of(site).token.body.refresh_token]).toEqual([true, false])
    },
  ],
])

const flow = FLOWS['standalone, a secret']
async function page(site: Site) {
  const { asked } = await authorizationRequestOf(site, flow, { prompt: 'consent' })
  return openAuthorizePage(site, flow, asked)
}

export const ATTESTED: readonly KitRow[] = [
  ...REFRESH,
  [
    `${G10} Test03`,
    'a user is shown each scope of resources that is asked for, and may leave each out',
    async (site) => {
      const { text } = await page(site)
      const offered = [...text.matchAll(/<input type="checkbox" name="keep" value="([^"]*)"/g)].map(([, scope]) => scope)
      expect(offered).toEqual(expect.arrayContaining(flow.scope.split(' ').filter((scope) => scope.startsWith('patient/'))))
    },
  ],
  [
    `${G10} Test04`,
    'a user is told that access lasts while he is not there',
    async (site) => expect((await page(site)).text).toContain('Keep access while you are away'),
  ],
]
