/** `npm run bench`: what the server does against floors (rates.ts). `npm run bench -- worst`: what the worst requests do to it (worst.ts). */
await import(process.argv[2] === 'worst' ? './worst.ts' : './rates.ts')
