/** Findings of cdk-nag in the stacks. */
import { expect, it } from '@jest/globals'
import { findingsOf } from './assembly.ts'
import { STAGES, stageEntries } from './stages.ts'

const findings = await findingsOf(STAGES)
/** Accepted findings about open methods: no operator deploys the local stage by mistake. */
const isOfOpenMethod = (finding: string): boolean => findings.local.includes(finding) && finding.startsWith('AwsSolutions-APIG4 ')

it.each(stageEntries)('the stacks of %s have only accepted findings of cdk-nag', (stage) =>
  expect(findings[stage].filter((finding) => !isOfOpenMethod(finding))).toEqual([]),
)
