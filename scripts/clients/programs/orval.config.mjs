export default {
  waymark: {
    input: { target: process.env.DOCUMENT },
    output: { target: "generated.ts", client: "fetch", baseUrl: { getBaseUrlFromSpecification: true } },
  },
};
