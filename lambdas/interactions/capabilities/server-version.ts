/** Version of package.json, repeated here because that file is not deployed with Lambda functions. */
export const SERVER_VERSION = '0.1.0'
