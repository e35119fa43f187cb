/** Tests run the sources as they are: Node strips the types, jest loads ES modules. */
export default {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': '<rootDir>/jest.strip-types.js' },
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  testTimeout: 60_000,
}
