/** Matches of generated members with the index of the embedded server. */
import { it } from '@jest/globals'
import { caseCountOf } from '../../fixtures/long-runs.ts'
import { memberStoreOf } from '../member-store.ts'
import { expectSameMembers } from './generated-members.ts'

it('both matchers find the same, for members alone and together', () =>
  expectSameMembers({ members: caseCountOf(300, 10_000), requests: caseCountOf(400, 1_500) }, (stored) => memberStoreOf(stored)))
