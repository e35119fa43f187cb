/** Findings of cdk-nag in the stacks. */
import { expect, it } from '@jest/globals'
import { findingsOf } from './assembly.ts'
import { STAGES, stageEntries } from './stages.ts'

const findings = await findingsOf(STAGES)
/** Which is as it should be: nobody deploys that by mistake. */
const isOfOpenMethod = (finding: string): boolean => findings.local.includes(finding) && finding.startsWith('AwsSolutions-APIG4 ')

it.each(stageEntries)('the stacks: %s have no finding of cdk-nag that is not accepted with a reason', (stage) =>
  expect(findings[stage].filter((finding) => !isOfOpenMethod(finding))).toEqual([]),
)
