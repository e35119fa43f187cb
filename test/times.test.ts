import { expect, it } from '@jest/globals'
import { reportLinesOf } from '../.ci/times.ts'

it('prints the seconds of folders and files, with differences of files that ran before', () => {
  const before = { 'api/a.test.ts': 4, 'api/moved.test.ts': 90, 'auth/b.test.ts': 1 }
  expect(reportLinesOf({ 'api/a.test.ts': 3, 'api/c.test.ts': 5, 'auth/b.test.ts': 1.5, 'd.test.ts': 2 }, before)).toEqual([
    'Seconds by folder, and the difference to the run before:',
    '     8.0     -1.0 api',
    '     2.0      new .',
    '     1.5     +0.5 auth',
    'The 25 slowest files:',
    '     5.0      new api/c.test.ts',
    '     3.0     -1.0 api/a.test.ts',
    '     2.0      new d.test.ts',
    '     1.5     +0.5 auth/b.test.ts',
  ])
})
