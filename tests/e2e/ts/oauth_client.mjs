// A TypeScript client of a protected server. It sends its user to a URL that it prints, reads from its standard input
// where the user landed, and prints what the server's tool `whoami` said, as one line of JSON.
//
//   node oauth_client.mjs URL
import { createInterface } from 'node:readline/promises';
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';

const CALLBACK = 'http://127.0.0.1:3000/callback';

class Provider {
    get redirectUrl() {
        return CALLBACK;
    }
    get clientMetadata() {
        return { client_name: 'typescript-peer', redirect_uris: [CALLBACK], token_endpoint_auth_method: 'none' };
    }
    state() {
        return 'the-state';
    }
    clientInformation() {
        return this.information;
    }
    saveClientInformation(information) {
        this.information = information;
    }
    tokens() {
        return this.saved;
    }
    saveTokens(tokens) {
        this.saved = tokens;
    }
    redirectToAuthorization(url) {
        console.log(url.href);
    }
    saveCodeVerifier(verifier) {
        this.verifier = verifier;
    }
    codeVerifier() {
        return this.verifier;
    }
    saveDiscoveryState(state) {
        this.discovered = state;
    }
    discoveryState() {
        return this.discovered;
    }
}

const authProvider = new Provider();
const connect = async () => {
    const client = new Client({ name: 'typescript-peer', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
    const transport = new StreamableHTTPClientTransport(new URL(process.argv[2]), { authProvider });
    await client.connect(transport);
    return client;
};
const whoami = async client => (await client.callTool({ name: 'whoami', arguments: {} })).content[0].text;

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
try {
    await connect();
    throw new Error('the server let everybody in');
} catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
}
const landed = new URL((await lines.next()).value);
const transport = new StreamableHTTPClientTransport(new URL(process.argv[2]), { authProvider });
await transport.finishAuth(landed.searchParams);
const first = authProvider.saved;
const client = await connect();
const before = await whoami(client);

// As if the access token had ended.
authProvider.saved = { ...first, access_token: 'ended' };
const after = await whoami(client);
await client.close();
console.log(JSON.stringify({ before, after, rotated: authProvider.saved.refresh_token !== first.refresh_token }));
