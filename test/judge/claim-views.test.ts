/** Claims without amounts conform to CARIN's Basis profiles as the guide's own claims do, as HAPI's validator judges. http://hl7.org/fhir/us/carin-bb/ */
import { expect, it } from '@jest/globals'
import { viewOf } from '../../lambdas/access/view/view.ts'
import { missingJavaReason } from '../engines/java.ts'
import { CLAIM_PAIRS } from '../fixtures/payer/claims.ts'
import { CLAIM_PROFILES } from '../fixtures/payer/guides.ts'
import type { Tree } from '../fixtures/resources.ts'
import { runHapi } from './hapi.ts'
import { hapiPackageOf } from './own-package.ts'

const reason = missingJavaReason()
if (reason !== undefined) process.stderr.write(`HAPI's validator does not judge claims: ${reason}\n`)
const judging = reason === undefined ? it : it.skip

judging(
  'A claim without amounts breaks no more rules of its Basis profile than that of the guide',
  async () => {
    const viewed = CLAIM_PAIRS.map(([whole]) => viewOf(whole, 'payer', { isLoaded: () => true }) as Tree)
    const published = CLAIM_PAIRS.map(([, without]) => without as Tree)
    // Without a type a claim conforms to none.
    const broken = viewed.map(({ type: _, ...rest }): Tree => rest)
    const requests = [viewed, published, broken].flatMap((claims) =>
      claims.map((claim, i) => ({ text: JSON.stringify(claim), profile: viewed[i]!.meta.profile[0], isTold: true as const })),
    )
    const verdicts = await runHapi(requests, await hapiPackageOf('claims', CLAIM_PROFILES))
    for (const [i, { id, meta }] of viewed.entries()) {
      const [own, ofGuide, ofBroken] = [0, 1, 2].map((n) => verdicts[n * viewed.length + i]!)
      // The judge resolves no references, so rules about their targets fail in the claims of the guide too.
      const more = own!.filter((each) => !ofGuide!.includes(each))
      expect([id, meta.profile, more]).toEqual([id, [expect.stringContaining('-Basis|2.2.0')], []])
      expect([id, ofBroken!.length > own!.length]).toEqual([id, true])
    }
  },
  600_000,
)
