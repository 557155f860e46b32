import { ApolloProvider } from "@apollo/client/react";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { apollo } from "./client.ts";
import { startLiveUpdates } from "./live-updates.ts";
import "./styles.css";

startLiveUpdates();
createRoot(document.querySelector("#root") as Element).render(
  <StrictMode>
    <ApolloProvider client={apollo}>
      <App />
    </ApolloProvider>
  </StrictMode>,
);
